// The optimizers that tests vary over: every kind as it is by default, and keys that change what one keeps.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/config/config.h"

namespace segue {

struct OptimizerVariant {
  std::string name;
  OptimizerConfig config;
};

inline std::vector<OptimizerVariant> optimizer_variants() {
  std::vector<OptimizerVariant> variants;
  for (size_t i = 0; i < choices_of(OptimizerKind{}).size(); ++i) {
    const auto kind = static_cast<OptimizerKind>(i);
    variants.push_back({std::string(name_of_choice(kind)), {.kind = kind}});
  }
  variants.push_back({"momentum", {.kind = OptimizerKind::kSgd, .momentum = 0.9}});
  return variants;
}

inline std::string name_of_optimizer(const testing::TestParamInfo<OptimizerVariant>& info) { return info.param.name; }

}  // namespace segue
