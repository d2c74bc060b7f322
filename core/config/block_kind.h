// The kinds of block: core/config/block_kinds.inc, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

#define SEGUE_BLOCK_KIND(Name, word, meaning) k##Name,
enum class BlockKind : uint8_t {
#include "core/config/block_kinds.inc"
};
inline const auto& table_of(BlockKind) {
#define SEGUE_BLOCK_KIND(Name, word, meaning) {BlockKind::k##Name, #word, meaning},
  static constexpr Choice<BlockKind> kRows[] = {
#include "core/config/block_kinds.inc"
  };
  static constexpr ChoiceTable kTable(kRows);
  return kTable;
}

}  // namespace segue
