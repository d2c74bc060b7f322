// The model: its parameters, and the recording of one segment's forward and backward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/attention/layer_positions.h"
#include "core/head/head.h"
#include "core/kinds/block/block.h"
#include "core/kinds/depth/depth.h"
#include "core/kinds/memory/model_memory.h"
#include "core/kinds/segment_tape.h"
#include "core/model/parameter_specs.h"
#include "data_pipeline/masked_tokens.h"

namespace segue {

// Transformer-XL and its family: what its config says of the shapes of weights. How they are used (ModelUse) comes with
// what is recorded, and training and evaluation share one model.
class Transformer {
 public:
  // `vocabulary` is the dataset's; the tables of a masked model have one row more, the mask token's.
  Transformer(const ModelConfig& model, int64_t vocabulary);

  const ModelConfig& config() const { return config_; }
  int64_t vocab_size() const { return vocab_size_; }  // with the mask token
  const ModelMemory& memory() const { return *memory_; }
  std::vector<ParameterSpec> parameter_specs() const { return segue::parameter_specs(config_, vocabulary_); }

  // Records what `shape` says, one segment or several of a step, in such a use, whose mem_len says how many keys are
  // seen while the shape says how many rows of memory are bound. Sealed and ready for replay.
  std::unique_ptr<SegmentTape> record(Arena& arena, Tape::Mode mode, Parameters& parameters, const ModelUse& use,
                                      const SegmentShape& shape) const;

  // Counts such a segment on a tape that never runs. Of an adaptive head's softmaxes only that of the frequent words
  // counts; where clusters have tables of their own, the projections of all clusters for every token.
  Flops flops(Parameters& parameters, const ModelUse& use, const SegmentShape& shape) const;

  // Bytes of the lists of tiles that sparse layers see in such a segment; layers that see the same have one.
  int64_t schedule_bytes(const ModelUse& use, const SegmentShape& shape) const;

  // Records what a KV cache starts from while weights are frozen: per layer the rows of distances that
  // segments of `tgt_len` tokens need, and the keys and values of a memory full of zeros. Sealed; both kept.
  std::unique_ptr<FrozenTape> record_frozen(Arena& arena, Parameters& parameters, const ModelUse& use, int64_t streams,
                                            int64_t tgt_len) const;

  // Records, for weights that do not change, the keys and values of a layer's memory before such a segment. Sealed.
  std::unique_ptr<MemoryTape> record_memory(Arena& arena, Parameters& parameters, const ModelUse& use,
                                            const SegmentShape& shape, int64_t layer) const;

  // Records, for weights that do not change, the keys and values that all layers make of rows [B, M, D], which
  // `record_rows` records first. Sealed.
  using RowsRecorder = std::function<Value(Tape& tape, const Head& head)>;
  std::unique_ptr<SharedRowsTape> record_shared_rows(Arena& arena, Parameters& parameters, const ModelUse& use,
                                                     const RowsRecorder& record_rows) const;

 private:
  // What is recorded of the segments of a step, and what is needed for that.
  struct Step : StepRecording {
    std::unique_ptr<MemoryStations> stations = {};
    Value embedded = {};                                          // [B, T, D]: all its tokens
    std::map<int64_t, LayerPositions::Encodings> encodings = {};  // for so many keys
  };
  const LayerPositions::Encodings& encodings_for(Step& step, int64_t keys) const;
  Value record_entry(Step& step) const;
  void bind_memory(Step& step) const;
  StreamRows record_segment(Step& step, SegmentOfStep segment) const;
  Residual record_layer(Step& step, const SegmentOfStep& segment, Depth::Passes& passes, int64_t layer,
                        Residual residual) const;
  LayerOutputs record_block(Step& step, const SegmentOfStep& segment, int64_t layer, const Residual& residual) const;
  LayerMemory memory_of(const Step& step, int64_t layer) const;
  void keep_carried(Step& step) const;
  void keep_fresh(Step& step) const;
  ReceivedAttention received_by_all(Step& step) const;
  void record_output(Step& step, const Value& output) const;

  ModelConfig config_;
  int64_t vocabulary_;
  int64_t vocab_size_;
  Depth depth_;
  LayerPositions positions_;
  std::unique_ptr<ModelMemory> memory_;
  std::vector<std::unique_ptr<Block>> layers_;
  std::unique_ptr<Head> head_;
};

// Segments of `tgt_len` tokens in training with a full memory, of which the `scored` newest tokens have a loss.
SegmentShape full_segment(const ModelConfig& model, const ModelUse& use, int64_t streams, int64_t tgt_len,
                          int64_t scored);

// A model, how it is used, and where it runs. All but the use outlive whoever takes it.
struct ModelInUse {
  const Transformer& model;
  ModelUse use;
  Parameters& parameters;
  Arena& arena;
  kernels::Queue& queue;
};

// What a masked model asks of the data in training; none of one that predicts next tokens.
std::optional<Masking> training_masking(const Transformer& model, uint64_t seed);
// And in evaluation: the same tokens of a split, hidden alike, of all models, by the published shares, whatever their
// training's.
std::optional<Masking> evaluation_masking(const Transformer& model);

}  // namespace segue
