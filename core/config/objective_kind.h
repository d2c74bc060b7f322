// The objectives, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class ObjectiveKind : uint8_t { kNextToken, kMasked };
inline const auto& table_of(ObjectiveKind) {
  using enum ObjectiveKind;
  static constexpr ChoiceTable<ObjectiveKind, 2> kTable(
      {{kNextToken, "next_token", "the tokens before it"},
       {kMasked, "masked",
        "its whole segment, in which a mask token stands for it and some others, and what is remembered of earlier "
        "segments, masked likewise (Devlin et al. 2019)"}});
  return kTable;
}

}  // namespace segue
