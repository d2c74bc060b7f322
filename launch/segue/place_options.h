// The options of commands that compute without a config: on which device, and in which precision.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "core/config/kinds.h"

namespace segue {

inline void add_place_options(CLI::App& command, std::string& device, PrecisionKind& precision) {
  std::map<std::string, PrecisionKind> precisions;
  for (const std::string_view name : choices_of(precision))
    precisions.emplace(name, static_cast<PrecisionKind>(precisions.size()));
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--precision", precision, "Of activations and products: fp32, or on a GPU bf16")
      ->transform(CLI::CheckedTransformer(precisions))
      ->default_str("fp32");
}

}  // namespace segue
