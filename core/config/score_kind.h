// The kinds of score, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class ScoreKind : uint8_t { kSoftmax, kState };
inline const auto& table_of(ScoreKind) {
  using enum ScoreKind;
  static constexpr ChoiceTable<ScoreKind, 2> kTable(
      {{kSoftmax, "softmax", "by the exponential of each key's score, as a share of all that the query sees"},
       {kState, "state",
        "not at all: every token adds its value to a matrix under its key, and reads from that matrix by its query. "
        "Time and memory do not grow with the text. Segments pass the matrix on, and it is all that they remember in "
        "such a layer (Katharopoulos et al. 2020)"}});
  return kTable;
}

}  // namespace segue
