// Options that several commands have.
#include "launch/segue/options.h"

#include <fmt/format.h>

#include <map>

namespace segue {

CLI::Validator at_least(double least) {
  const auto check = [least](const std::string& text) -> std::string {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return "";
    return fmt::format("expected a number of at least {:g}, found \"{}\"", least, text);
  };
  return {check, fmt::format(">= {:g}", least)};
}

void add_place_options(CLI::App& command, std::string& device, PrecisionKind& precision) {
  std::map<std::string, PrecisionKind> precisions;
  for (const std::string_view name : choices_of(precision))
    precisions.emplace(name, static_cast<PrecisionKind>(precisions.size()));
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--precision", precision, "Of activations and products: fp32, or on a GPU bf16")
      ->transform(CLI::CheckedTransformer(precisions))
      ->default_str("fp32");
}

}  // namespace segue
