// The kinds of memory: core/config/memory_kinds.inc, each with the word that stands for it in configs and what it
// means, and behind these the kinds that extensions bring (core/extension/extension.h).
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/config/kinds.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) k##Name,
enum class MemoryKind : uint8_t {
#include "core/config/memory_kinds.inc"
};

// How many kinds there may be in all: the bits of Kinds.
inline constexpr size_t kMostMemoryKinds = 64;

// As a ChoiceTable. What it returns stays as it is when a kind is added, but does not have that kind.
class MemoryKindTable {
 public:
  MemoryKindTable();  // of the list

  Words words() const { return words_; }
  std::span<const ExplainedWord> explained() const { return explained_; }

 private:
  friend MemoryKindTable& memory_kind_table();
  friend MemoryKind add_memory_kind(const ExplainedWord& kind, std::string_view extension);

  std::vector<std::string_view> words_;
  std::vector<ExplainedWord> explained_;
  std::vector<std::string_view> extensions_;
  friend std::string_view extension_of(MemoryKind kind);
};
const MemoryKindTable& table_of(MemoryKind kind);

// The name of the extension that a kind comes from; empty of those of the list.
std::string_view extension_of(MemoryKind kind);

// The kind that this word stands for. Throws ContractError where there is none.
MemoryKind memory_kind_named(std::string_view word);

// Adds a kind, whose texts stay where they are as long as the program runs. Rows of it follow, of each MemoryKindRows.
// Throws ConfigError naming the extension where a kind has this word, or where there are too many.
MemoryKind add_memory_kind(const ExplainedWord& kind, std::string_view extension);

// What one part of the program knows of kinds: a row for each, in their order. It begins with the rows of the list.
template <typename Row>
class MemoryKindRows {
 public:
  MemoryKindRows(std::initializer_list<const Row*> listed) {
    rows_.reserve(kMostMemoryKinds);
    rows_ = listed;
  }

  const Row& of(MemoryKind kind) const { return *rows_.at(static_cast<size_t>(kind)); }
  std::span<const Row* const> all() const { return rows_; }

  // Of the kind that was added last; the row stays where it is.
  void add(MemoryKind kind, const Row& row) {
    if (static_cast<size_t>(kind) != rows_.size()) throw ContractError("a row of another kind of memory than the next");
    rows_.push_back(&row);
  }

 private:
  std::vector<const Row*> rows_;
};

}  // namespace segue
