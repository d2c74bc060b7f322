// How errors are made: as fmt::format is called, ConfigError("{}: expected {}", path, what). What they are, all users
// of Segue read in the public header.
#pragma once

#include <fmt/format.h>
#include <segue/error.h>

#include <string>
#include <utility>

namespace segue {

template <typename... Args>
struct MessageFormat {
  using Text = fmt::format_string<Args...>;
  static std::string fill(Text format, Args&&... args) { return fmt::format(format, std::forward<Args>(args)...); }
};

// Inside a catch block: throws on what was caught, as the Error that stands for it.
[[noreturn]] void throw_as_error();

// Runs `work`, from which only Errors come out.
template <typename Work>
auto with_typed_errors(const Work& work) {
  try {
    return work();
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace segue
