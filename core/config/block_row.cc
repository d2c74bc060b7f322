#include "core/config/block_row.h"

namespace segue {

#define SEGUE_BLOCK_KIND(Name, word, meaning) extern const BlockRow k##Name##BlockRow;
#include "core/config/block_kinds.inc"

std::span<const BlockRow* const> rows_of_block_kinds() {
  static constexpr const BlockRow* kRows[] = {
#define SEGUE_BLOCK_KIND(Name, word, meaning) &k##Name##BlockRow,
#include "core/config/block_kinds.inc"
  };
  return kRows;
}

const BlockRow& row_of(BlockKind kind) { return *rows_of_block_kinds()[static_cast<size_t>(kind)]; }

}  // namespace segue
