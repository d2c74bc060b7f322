// Options that several commands have.
#include "launch/segue/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace segue {

CLI::Validator at_least(double least) {
  const auto check = [least](const std::string& text) -> std::string {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return "";
    return fmt::format("expected a number of at least {:g}, found \"{}\"", least, text);
  };
  return {check, fmt::format(">= {:g}", least)};
}

CLI::Validator between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return "";
    return fmt::format("expected a number from {:.0f} to {:.0f}, found \"{}\"", least, most, text);
  };
  return {check, fmt::format("{:.0f} to {:.0f}", least, most)};
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const std::string all = fmt::format("{}", fmt::join(words, ", "));
  const auto check = [words, all](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    return fmt::format("expected one of {}, found \"{}\"{}", all, text,
                       did_you_mean(nearest_word(text, {words.begin(), words.end()})));
  };
  return {check, all};
}

void add_place_options(CLI::App& command, std::string& device, PrecisionKind& precision) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  add_choice(command, "--precision", precision, "Of activations and products: fp32, or bf16 where the device has it");
}

}  // namespace segue
