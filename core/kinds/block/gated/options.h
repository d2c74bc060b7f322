// The keys of a gated block, and what follows from them.
#pragma once

#include <cstdint>

#include "base/choices.h"
#include "core/config/model_config.h"

namespace segue {

enum class ResidualGate : uint8_t { kGru, kHighway, kSigmoidTanh, kInput, kOutput };
inline const auto& table_of(ResidualGate) {
  using enum ResidualGate;
  static constexpr ChoiceTable<ResidualGate, 5> kTable(
      {{kGru, "gru", "a gated recurrent unit, whose state is the residual"},
       {kHighway, "highway", "a share of the residual, and the rest from the branch"},
       {kSigmoidTanh, "sigmoid_tanh", "the residual, and a share of a bounded branch"},
       {kInput, "input", "a share of the residual, and the branch"},
       {kOutput, "output", "the residual, and a share of the branch"}});
  return kTable;
}

// Whether a bias says at first how much of the branch passes.
constexpr bool has_bias(ResidualGate gate) { return gate != ResidualGate::kInput; }

}  // namespace segue
