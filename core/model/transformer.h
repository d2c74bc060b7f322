// The model: its parameters, and the recording of one segment's forward and backward pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/block.h"
#include "core/model/head.h"
#include "core/model/position.h"
#include "core/model/segment_memory.h"

namespace segue {

// The extents a tape is recorded for.
struct SegmentShape {
  int64_t streams = 0;
  int64_t tgt_len = 0;
  int64_t memory_length = 0;  // rows of memory there are, up to mem_len
  int64_t scored = 0;         // newest tokens of each stream whose loss is wanted; 0: all
  int64_t scored_tokens() const { return scored == 0 ? tgt_len : scored; }
  bool operator==(const SegmentShape&) const = default;
};

// The tape of one segment with the tensors that go in and come out.
struct SegmentTape {
  SegmentTape(Arena& arena, Tape::Mode mode, DType activations) : tape(arena, mode, activations) {}
  Tape tape;
  Slot tokens;                 // [B, T] int32, bound
  Slot targets;                // [B, S] int32, bound: of the S newest tokens, which are scored
  Slot places;                 // [B, T] int32: 0 .. T-1, unless bound anew; none unless positions are absolute
  std::vector<Slot> memories;  // per layer [B, M, D], bound
  std::vector<Slot> hidden;    // per layer [B, T, D]: the layer's input, kept
  Slot nll;                    // [B*S], kept
};

// Transformer-XL and its family. `mem_len` and `clamp_len` of the config may differ between training and evaluation of
// the same weights: a model is made for one use and shares its Parameters with the others.
class Transformer {
 public:
  Transformer(const ModelConfig& model, int64_t vocab_size);

  const ModelConfig& config() const { return config_; }
  int64_t vocab_size() const { return vocab_size_; }
  std::vector<ParameterSpec> parameter_specs() const;

  // Records a segment of `shape`, sealed and ready for replay.
  std::unique_ptr<SegmentTape> record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                      const SegmentShape& shape) const;

  SegmentMemory make_memory(int64_t streams, const Compute& compute = {}) const;

 private:
  Value record_entry(SegmentTape& segment, Parameters& parameters) const;

  ModelConfig config_;
  int64_t vocab_size_;
  std::unique_ptr<Position> position_;
  std::unique_ptr<Block> block_;
  std::unique_ptr<Head> head_;
};

// Multiply-adds count as two operations; masked scores and recomputation are not counted. Forward plus backward is
// three times the forward. Of an adaptive head only the frequent words count, as how many tokens are of other clusters
// is up to the text. Per segment of `shape`.
double forward_flops(const ModelConfig& model, int64_t vocab_size, const SegmentShape& shape);

// From how many tokens back information reaches the last query of a segment: T - 1 in the segment and M per layer, and
// more when M is not a multiple of T, as the oldest row of a memory has seen its own segment from the start.
int64_t reach_in_tokens(const ModelConfig& model, int64_t tgt_len);

// How many tokens before a segment its losses depend on, rounded up to whole segments.
int64_t warm_up_in_tokens(const ModelConfig& model, int64_t tgt_len);

}  // namespace segue
