// What a kind of memory says of itself in configs: a row, which core/kinds/memory/WORD/options.cc defines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/carried.h"
#include "core/config/kind_requirements.h"
#include "core/config/memory_kind.h"

namespace segue {

// The defaults are those of a memory of the newest rows of every layer.
struct MemoryRow {
  // Its keys below model.memory.
  void (*describe)(MemoryConfig& memory, JsonFields& fields) = [](MemoryConfig& /*memory*/, JsonFields& /*fields*/) {};

  // What it needs of the rest of a config.
  KindRequirements (*needs)(const MemoryConfig& memory) = [](const MemoryConfig& /*memory*/) {
    return KindRequirements();
  };

  // What a layer hands on from segment to segment beside rows.
  std::vector<CarriedTensor> (*carried)(const ModelConfig& model, int64_t layer) =
      [](const ModelConfig& /*model*/, int64_t /*layer*/) { return std::vector<CarriedTensor>(); };

  // Says in a use how many rows of its own a segment has, or how the memory compresses.
  void (*take_over)(const MemoryConfig& memory, ModelUse& use) = [](const MemoryConfig& /*memory*/, ModelUse& /*use*/) {
  };

  // What makes it remember a token however much later, below model.memory: `kind = "tokens"`. Empty where a token is
  // forgotten after a number of others. Whether layers carry something is asked of `carried` instead.
  std::string (*without_limit)(const MemoryConfig& memory) = [](const MemoryConfig& /*memory*/) {
    return std::string();
  };

  // Whether a part of it learns from a loss of its own.
  bool (*has_own_loss)(const MemoryConfig& memory) = [](const MemoryConfig& /*memory*/) { return false; };

  // The kind whose models have the same weights, if another has.
  std::optional<MemoryKind> has_weights_of = {};

  bool learns_from_later_segments = false;  // layers learn what to write only through later segments of a step
  bool is_seen_whole = false;               // every token sees all of it, whatever layers see of their segment
  bool holds_a_segment = false;             // segments are never longer than the memory
  bool adds_to_residual = false;            // what it remembers, before or after a layer
  bool is_like_a_window = true;             // a window of as many keys can stand for it
};

const MemoryRow& row_of(MemoryKind kind);
std::span<const MemoryRow* const> rows_of_memory_kinds();  // of all kinds, in the order of the list

// Of a kind that was added.
void add_row(MemoryKind kind, const MemoryRow& row);

// `kind = "WORD"`.
std::string said_kind(const MemoryConfig& memory);

// Why several kinds take no documents that end within a segment.
inline constexpr Reason kWrittenOnce{
    .because = "memory tokens are written once a segment, even where a document ends inside it"};
inline constexpr Reason kGoesOn{.because = "what it remembers goes on from one document to the next"};

}  // namespace segue
