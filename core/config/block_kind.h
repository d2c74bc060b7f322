// The kinds of block, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class BlockKind : uint8_t { kTransformer };
inline const auto& table_of(BlockKind) {
  using enum BlockKind;
  static constexpr ChoiceTable<BlockKind, 1> kTable(
      {{kTransformer, "transformer", "attention, then feed-forward, both residual"}});
  return kTable;
}

}  // namespace segue
