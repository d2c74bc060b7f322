#include "core/config/block_row.h"

namespace segue {

#define SEGUE_BLOCK_KIND(Name, word, meaning) extern const BlockRow k##Name##BlockRow;
#include "core/config/block_kinds.inc"

namespace {

constexpr const BlockRow* kRows[] = {
#define SEGUE_BLOCK_KIND(Name, word, meaning) &k##Name##BlockRow,
#include "core/config/block_kinds.inc"
};

}  // namespace

const BlockRow& row_of(BlockKind kind) { return *kRows[static_cast<size_t>(kind)]; }

std::span<const BlockRow* const> rows_of_block_kinds() { return kRows; }

}  // namespace segue
