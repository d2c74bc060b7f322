// The kinds of memory: core/config/memory_kinds.inc, each with the word that stands for it in configs and what it
// means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) k##Name,
enum class MemoryKind : uint8_t {
#include "core/config/memory_kinds.inc"
};
inline const auto& table_of(MemoryKind) {
#define SEGUE_MEMORY_KIND(Name, word, meaning) {MemoryKind::k##Name, #word, meaning},
  static constexpr Choice<MemoryKind> kRows[] = {
#include "core/config/memory_kinds.inc"
  };
  static constexpr ChoiceTable kTable(kRows);
  return kTable;
}

}  // namespace segue
