// The keys of a memory of recurrent states, and what follows from them.
#pragma once

#include <cstdint>

#include "base/choices.h"
#include "core/config/model_config.h"

namespace segue {

enum class RecurrentGate : uint8_t { kFixed, kLstm };
inline const auto& table_of(RecurrentGate) {
  using enum RecurrentGate;
  static constexpr ChoiceTable<RecurrentGate, 2> kTable(
      {{kFixed, "fixed",
        "a learned share of each column stays, the same whatever the states say, and the rest is replaced"},
       {kLstm, "lstm", "each state says what it forgets and what it takes in, column by column"}});
  return kTable;
}

// The layer that carries the states: what the key says, or the third from the top.
int64_t recurrent_layer(const ModelConfig& model);

}  // namespace segue
