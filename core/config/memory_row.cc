#include "core/config/memory_row.h"

#include <fmt/format.h>

#include "base/error.h"
#include "core/config/memory_kind.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) extern const MemoryRow k##Name##Row;
#include "core/config/memory_kinds.inc"

namespace {

MemoryKindRows<MemoryRow>& rows_in_configs() {
  static MemoryKindRows<MemoryRow> rows{
#define SEGUE_MEMORY_KIND(Name, word, meaning) &k##Name##Row,
#include "core/config/memory_kinds.inc"
  };
  return rows;
}

}  // namespace

const MemoryRow& row_of(MemoryKind kind) { return rows_in_configs().of(kind); }

std::span<const MemoryRow* const> rows_of_memory_kinds() { return rows_in_configs().all(); }

void add_row(MemoryKind kind, const MemoryRow& row) { rows_in_configs().add(kind, row); }

std::string said_kind(const MemoryConfig& memory) { return fmt::format(R"(kind = "{}")", name_of_choice(memory.kind)); }

}  // namespace segue
