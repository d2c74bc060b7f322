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
#define SEGUE_MEMORY_KIND(Name, word, meaning) +1
  static constexpr size_t kCount = 0
#include "core/config/memory_kinds.inc"
      ;
#define SEGUE_MEMORY_KIND(Name, word, meaning) {MemoryKind::k##Name, #word, meaning},
  static constexpr ChoiceTable<MemoryKind, kCount> kTable({
#include "core/config/memory_kinds.inc"
  });
  return kTable;
}

}  // namespace segue
