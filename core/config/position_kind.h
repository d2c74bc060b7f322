// The kinds of position, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class PositionKind : uint8_t {
  kRelative,
  kSinusoidal,
  kLearned,
  kShaw,
  kRope,
  kAlibi,
  kT5,
  kKerple,
  kDistanceAware,
  kNone
};
inline const auto& table_of(PositionKind) {
  using enum PositionKind;
  static constexpr std::string_view kAbsolute =
      "a vector for a token's position in its segment is added to its embedding, and what is in memory keeps the "
      "position that it had";
  static constexpr ChoiceTable<PositionKind, 10> kTable(
      {{kRelative, "relative", "sinusoids of the distance between query and key, with the biases u and w"},
       {kShaw, "shaw", "a learned row for every distance, in every layer"},
       {kRope, "rope",
        "queries and keys are rotated by angles that grow with their position, so that scores depend on the distance"},
       {kAlibi, "alibi", "every head subtracts a fixed slope of its own, times the distance, from each score"},
       {kT5, "t5", "every head adds a learned bias to each score, one for each bucket of distances"},
       {kKerple, "kerple", "every head subtracts a learned multiple of a logarithm of the distance from each score"},
       {kDistanceAware, "distance_aware",
        "every head of every layer sets scores below zero to zero and multiplies the others by a learned curve of the "
        "distance"},
       {kSinusoidal, "sinusoidal", kAbsolute},
       {kLearned, "learned", kAbsolute},
       {kNone, "none", "attention sees only the content of keys"}});
  return kTable;
}

}  // namespace segue
