#include "core/config/memory_row.h"

#include <fmt/format.h>

#include "base/error.h"
#include "core/config/memory_kind.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) extern const MemoryRow k##Name##Row;
#include "core/config/memory_kinds.inc"

std::span<const MemoryRow* const> rows_of_memory_kinds() {
  static constexpr const MemoryRow* kRows[] = {
#define SEGUE_MEMORY_KIND(Name, word, meaning) &k##Name##Row,
#include "core/config/memory_kinds.inc"
  };
  return kRows;
}

const MemoryRow& row_of(MemoryKind kind) { return *rows_of_memory_kinds()[static_cast<size_t>(kind)]; }

std::string said_kind(const MemoryConfig& memory) { return fmt::format(R"(kind = "{}")", name_of_choice(memory.kind)); }

}  // namespace segue
