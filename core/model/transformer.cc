// The path of a segment: embed, L blocks that each read their own memory, the head's loss.
#include "core/model/transformer.h"

#include <algorithm>
#include <numeric>

#include "core/model/dropout_sites.h"
#include "core/model/visibility.h"

namespace segue {

namespace {

// [B, T] int32: 0 .. T-1 in every stream.
OwnedTensor first_places(const Shape& shape) {
  OwnedTensor places(DType::kInt32, shape);
  for (int64_t b = 0; b < shape[0]; ++b) {
    int32_t* stream = places.as<int32_t>() + b * shape[1];
    std::iota(stream, stream + shape[1], 0);
  }
  return places;
}

}  // namespace

Transformer::Transformer(const ModelConfig& model, int64_t vocab_size)
    : config_(model),
      vocab_size_(vocab_size),
      position_(make_position(model)),
      block_(make_block(model, *position_)),
      head_(make_head(model, vocab_size)) {}

std::vector<ParameterSpec> Transformer::parameter_specs() const {
  std::vector<ParameterSpec> specs;
  position_->declare_shared(specs);
  declare_embedding(config_, vocab_size_, specs);
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) block_->declare(layer, specs);
  declare_output(config_, vocab_size_, specs);
  return specs;
}

// Dropout acts once: on the embedding, or on its sum with absolute positions.
Value Transformer::record_entry(SegmentTape& segment, Parameters& parameters, const Value& encoding) const {
  Tape& tape = segment.tape;
  if (position_->is_absolute()) segment.places = tape.constant(first_places(tape.shape(segment.tokens)), DType::kInt32);
  const double p = position_->is_absolute() ? 0.0 : config_.dropout;
  const Value embedded = head_->embed_tokens(tape, parameters, segment.tokens, {.p = p, .site = kEmbeddingDropoutSite});
  return position_->enter(tape, parameters, embedded, encoding, segment.places);
}

std::unique_ptr<SegmentTape> Transformer::record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                                 const SegmentShape& shape) const {
  auto segment = std::make_unique<SegmentTape>(arena, mode, parameters.compute().activations);
  const bool remembers_states = shape.remembered == Remembered::kHiddenStates;
  check_position_table(config_, shape.tgt_len, remembers_states ? shape.memory_length : 0, "positions");
  Tape& tape = segment->tape;
  segment->tokens = tape.bound({shape.streams, shape.tgt_len}, DType::kInt32);
  if (shape.output == SegmentOutput::kLoss)
    segment->targets = tape.bound({shape.streams, shape.scored_tokens()}, DType::kInt32);
  const bool is_encoded = remembers_states || position_->is_absolute();
  const Value encoding = is_encoded ? position_->encode(tape, shape.memory_length + shape.tgt_len) : Value();

  Residual stream{.stream = record_entry(*segment, parameters, encoding), .branch = {}, .site = {}};
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    LayerInputs inputs = record_memory(*segment, layer, shape);
    inputs.encoding = encoding;
    const LayerOutputs outputs = block_->apply(tape, parameters, stream, inputs);
    const Slot fresh = remembers_states ? outputs.hidden.data : outputs.qkv.data;
    tape.keep(fresh);
    segment->fresh.push_back(fresh);
    stream = outputs.residual;
  }
  const Value last = stream.branch.data.exists() ? add(tape, stream) : stream.stream;
  const Value output = dropout(tape, last, {.p = config_.dropout, .site = kOutputDropoutSite});
  record_output(*segment, parameters, output, shape);
  tape.seal();
  return segment;
}

LayerInputs Transformer::record_memory(SegmentTape& segment, int64_t layer, const SegmentShape& shape) const {
  Tape& tape = segment.tape;
  LayerInputs inputs;
  inputs.layer = layer;
  const auto bound = [&tape](const Shape& extents) { return Value{tape.bound(extents, tape.activations()), {}}; };
  if (shape.remembered == Remembered::kHiddenStates) {
    inputs.memory = bound({shape.streams, shape.memory_length, config_.d_model});
    segment.memories.push_back(inputs.memory.data);
    return inputs;
  }
  const int64_t heads = config_.n_head * config_.d_head;
  inputs.memory_kv = bound({shape.streams, shape.memory_length, 2 * heads});
  segment.memories.push_back(inputs.memory_kv.data);
  if (shape.distances > 0) {
    inputs.distances = bound({shape.distances, heads});
    segment.distances.push_back(inputs.distances.data);
  }
  return inputs;
}

void Transformer::record_output(SegmentTape& segment, Parameters& parameters, const Value& output,
                                const SegmentShape& shape) const {
  Tape& tape = segment.tape;
  if (shape.output == SegmentOutput::kLoss) {
    const Value scored = newest_rows(tape, output, shape.scored_tokens());
    segment.nll = head_->loss(tape, parameters, scored, segment.targets);
    return;
  }
  segment.scores = head_->scores(tape, parameters, newest_rows(tape, output, 1));
  for (const Slot slot : segment.scores) tape.keep(slot);
}

std::unique_ptr<FrozenTape> Transformer::record_frozen(Arena& arena, Parameters& parameters, int64_t streams,
                                                       int64_t keys) const {
  check_position_table(config_, keys - config_.mem_len, config_.mem_len, "positions");
  auto frozen = std::make_unique<FrozenTape>(arena, parameters.compute().activations);
  Tape& tape = frozen->tape;
  const auto keep = [&tape](const Value& value, std::vector<Slot>& slots) {
    if (!value.data.exists()) return;
    tape.keep(value.data);
    slots.push_back(value.data);
  };
  const bool starts_full = config_.memory.initial == InitialMemory::kZeros && config_.mem_len > 0;
  const OwnedTensor zeros(DType::kFloat32, {streams, starts_full ? config_.mem_len : 0, config_.d_model});
  const Value memory{.data = tape.constant(zeros, tape.activations()), .gradient = {}};
  const Value encoding = position_->encode(tape, keys);
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    keep(position_->distances(tape, parameters, layer, encoding), frozen->distances);
    if (starts_full) keep(block_->keys_and_values(tape, parameters, layer, memory), frozen->zeros);
  }
  tape.seal();
  return frozen;
}

SegmentMemory Transformer::make_memory(int64_t streams, const Compute& compute) const {
  return SegmentMemory({.layers = config_.n_layer,
                        .streams = streams,
                        .capacity = config_.mem_len,
                        .d_model = config_.d_model,
                        .starts_full = config_.memory.initial == InitialMemory::kZeros},
                       compute);
}

Flops Transformer::flops(Parameters& parameters, const SegmentShape& shape) const {
  Arena unused(parameters.compute().device);
  return record(unused, Tape::Mode::kTraining, parameters, shape)->tape.flops();
}

namespace {

// The place of the oldest token that reaches a query, both counted from the first of the query's segment.
int64_t oldest_in_reach(const ModelConfig& model, int64_t tgt_len, int64_t query) {
  const int64_t window = visible_window(model);
  int64_t oldest = query;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const int64_t segments_back = (tgt_len - 1 - oldest) / tgt_len;
    const int64_t oldest_key = -segments_back * tgt_len - model.mem_len;
    oldest = window > 0 ? std::max(oldest_key, oldest - window + 1) : oldest_key;
  }
  return oldest;
}

}  // namespace

int64_t reach_in_tokens(const ModelConfig& model, int64_t tgt_len) {
  return tgt_len - 1 - oldest_in_reach(model, tgt_len, tgt_len - 1);
}

int64_t warm_up_in_tokens(const ModelConfig& model, int64_t tgt_len) {
  const int64_t before = -oldest_in_reach(model, tgt_len, 0);
  return (before + tgt_len - 1) / tgt_len * tgt_len;
}

}  // namespace segue
