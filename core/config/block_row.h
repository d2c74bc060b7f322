// What a kind of block says of itself in configs: a row, which core/kinds/block/WORD/options.cc defines.
#pragma once

#include <span>

#include "core/config/block_kind.h"
#include "core/config/kind_requirements.h"

namespace segue {

struct BlockRow {
  // Its keys below model.block, beside those of all kinds.
  void (*describe)(BlockConfig& block, JsonFields& fields) = [](BlockConfig& /*block*/, JsonFields& /*fields*/) {};

  // What it needs of the rest of a config.
  KindRequirements (*needs)(const BlockConfig& block) = [](const BlockConfig& /*block*/) { return KindRequirements(); };

  // Whether a layer norm stands before attention. The rows of a memory of hidden states then pass it too.
  bool (*normalises_first)(const BlockConfig& block) = [](const BlockConfig& /*block*/) { return false; };
};

const BlockRow& row_of(BlockKind kind);
std::span<const BlockRow* const> rows_of_block_kinds();  // of all kinds, in the order of the list

}  // namespace segue
