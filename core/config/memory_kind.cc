#include "core/config/memory_kind.h"

#include <algorithm>

namespace segue {

MemoryKindTable::MemoryKindTable() {
  words_.reserve(kMostMemoryKinds);
  explained_.reserve(kMostMemoryKinds);
  extensions_.reserve(kMostMemoryKinds);
  const auto list = [this](std::string_view word, std::string_view meaning) {
    words_.push_back(word);
    explained_.push_back({word, meaning});
    extensions_.emplace_back();
  };
#define SEGUE_MEMORY_KIND(Name, word, meaning) list(#word, meaning);
#include "core/config/memory_kinds.inc"
}

MemoryKindTable& memory_kind_table() {
  static MemoryKindTable table;
  return table;
}

const MemoryKindTable& table_of(MemoryKind /*kind*/) { return memory_kind_table(); }

std::string_view extension_of(MemoryKind kind) { return memory_kind_table().extensions_.at(static_cast<size_t>(kind)); }

MemoryKind memory_kind_named(std::string_view word) {
  const Words words = memory_kind_table().words();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) throw ContractError("there is no kind of memory \"{}\"", word);
  return static_cast<MemoryKind>(found - words.begin());
}

MemoryKind add_memory_kind(const ExplainedWord& kind, std::string_view extension) {
  MemoryKindTable& table = memory_kind_table();
  const auto found = std::ranges::find(table.words_, kind.word);
  if (found != table.words_.end()) {
    const std::string_view other = table.extensions_[static_cast<size_t>(found - table.words_.begin())];
    throw ConfigError(R"(extension "{}": model.memory.kind: expected a word that no kind has, found "{}", {}{}{})",
                      extension, kind.word, other.empty() ? "which Segue has" : "which extension \"", other,
                      other.empty() ? "" : "\" has");
  }
  if (table.words_.size() == kMostMemoryKinds)
    throw ConfigError("extension \"{}\": expected at most {} kinds of memory in all, found one more", extension,
                      kMostMemoryKinds);
  table.words_.push_back(kind.word);
  table.explained_.push_back(kind);
  table.extensions_.push_back(extension);
  return static_cast<MemoryKind>(table.words_.size() - 1);
}

}  // namespace segue
