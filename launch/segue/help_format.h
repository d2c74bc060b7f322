// Help of at most 80 columns. Commands in it that are longer go on behind a backslash, so that they can be pasted.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace segue {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace segue
