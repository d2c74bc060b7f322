// The kinds of head, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class HeadKind : uint8_t { kSoftmax, kAdaptive };
inline const auto& table_of(HeadKind) {
  using enum HeadKind;
  static constexpr ChoiceTable<HeadKind, 2> kTable(
      {{kSoftmax, "softmax"},
       {kAdaptive, "adaptive",
        "frequent words come first, the others in clusters that are computed only when chosen"}});
  return kTable;
}

}  // namespace segue
