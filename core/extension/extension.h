// What an extension includes: a shared library with kinds of memory from outside the tree, which `--extension FILE.so`
// loads. docs/extensions.md says how to write one; launch/extension/example is one.
//
//   SEGUE_EXTENSION(my_memory, kinds) {
//     kinds.add({.word = "my_memory", .meaning = "what it remembers", .row = kRow, .in_model = kInModel, .kept =
//     kKept});
//   }
//
// An extension is built for one build of Segue: its stamp (core/extension/stamp.h) says for which.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fields.h"
#include "core/attention/attention_memory.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/visibility_kind.h"
#include "core/extension/stamp.h"
#include "core/kinds/memory/model_memory.h"
#include "core/memory/kept_memory.h"
#include "core/tape/operations.h"
#include "core/tape/state_operations.h"

namespace segue {

// A kind of memory: what memory_kinds.inc and the kind's folder say of those in the tree. All of it must stay where it
// is, as constants do.
struct AddedMemory {
  std::string_view word;     // that stands for it in configs
  std::string_view meaning;  // what it remembers
  const MemoryRow& row;      // its keys, which stand in MemoryConfig::own, and what it needs of a config
  const ModelMemoryRow& in_model;
  const KeptMemoryRow& kept;
};

// Where an extension puts its kinds.
class AddedKinds {
 public:
  explicit AddedKinds(std::string_view extension) : extension_(extension) {}

  // Throws ConfigError naming the extension where a kind has this word, or where a key is one of another kind or is
  // read by other kinds.
  void add(const AddedMemory& memory) const;

 private:
  std::string_view extension_;
};

}  // namespace segue

// The one definition that makes a shared library an extension: its name, of letters, digits and low lines, and a body
// that adds its kinds. It stands outside of namespaces.
// NOLINTBEGIN(bugprone-macro-parentheses): the name of a parameter stands in none
#define SEGUE_EXTENSION(name, kinds)                                                                        \
  extern "C" __attribute__((section(SEGUE_STAMP_SECTION), used, visibility("default")))                     \
  const char segue_extension_stamp[] = SEGUE_STAMP(#name);                                                  \
  static void segue_extension_body(const segue::AddedKinds& kinds);                                         \
  extern "C" __attribute__((visibility("default"))) void segue_extension_add(const segue::AddedKinds& to) { \
    segue_extension_body(to);                                                                               \
  }                                                                                                         \
  static void segue_extension_body(const segue::AddedKinds& kinds)
// NOLINTEND(bugprone-macro-parentheses)
