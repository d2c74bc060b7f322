// How a kind of memory is kept between segments: a row, which core/kinds/memory/WORD/kept.cc defines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/config/memory_kind.h"
#include "core/memory/kept_beside.h"
#include "core/memory/memory.h"
#include "core/model/transformer.h"

namespace segue {

// Rows of layers, and what layers carry beside them.
std::unique_ptr<TrainingMemory> make_rows_and_states(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                     const Compute& compute);
std::unique_ptr<FrozenMemory> make_kv_cache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

using TapeViewer = std::function<void(const Tape& tape)>;

struct KeptMemoryRow {
  std::unique_ptr<TrainingMemory> (*make_training)(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                   const Compute& compute) = make_rows_and_states;
  std::unique_ptr<FrozenMemory> (*make_frozen)(const ModelInUse& in_use, int64_t streams,
                                               int64_t tgt_len) = make_kv_cache;
  // What a KV cache keeps beside the rows of layers and what they carry, if anything.
  std::unique_ptr<KeptBeside> (*make_beside)(const ModelConfig& model, int64_t streams, const Compute& compute) =
      [](const ModelConfig& /*model*/, int64_t /*streams*/, const Compute& /*compute*/) {
        return std::unique_ptr<KeptBeside>();
      };

  // Records what its frozen form runs between segments of such a shape, and shows each tape.
  void (*show_between)(const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& use,
                       const SegmentShape& shape, const TapeViewer& show) =
      [](const Transformer& /*model*/, Arena& /*arena*/, Parameters& /*parameters*/, const ModelUse& /*use*/,
         const SegmentShape& /*shape*/, const TapeViewer& /*show*/) {};
};

const KeptMemoryRow& kept(MemoryKind kind);

// Of a kind that was added (core/config/memory_kind.h).
void add_row(MemoryKind kind, const KeptMemoryRow& row);

}  // namespace segue
