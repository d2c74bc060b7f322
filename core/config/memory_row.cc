#include "core/config/memory_row.h"

#include <fmt/format.h>

#include "base/error.h"
#include "core/config/memory_kind.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) extern const MemoryRow k##Name##Row;
#include "core/config/memory_kinds.inc"

const MemoryRow& row_of(MemoryKind kind) {
  switch (kind) {
#define SEGUE_MEMORY_KIND(Name, word, meaning) \
  case MemoryKind::k##Name:                    \
    return k##Name##Row;
#include "core/config/memory_kinds.inc"
  }
  throw ContractError("unknown kind of memory");
}

std::vector<const MemoryRow*> memory_rows() {
  return {
#define SEGUE_MEMORY_KIND(Name, word, meaning) &k##Name##Row,
#include "core/config/memory_kinds.inc"
  };
}

std::string said_kind(const MemoryConfig& memory) { return fmt::format(R"(kind = "{}")", name_of_choice(memory.kind)); }

}  // namespace segue
