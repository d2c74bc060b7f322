// The path of a segment: embed, L blocks that each read their own memory, the head's loss.
#include "core/model/transformer.h"

#include <algorithm>
#include <numeric>

#include "core/attention/schedules.h"
#include "core/attention/visibility.h"
#include "core/config/layers.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

constexpr const char* kFinalNorm = "final_norm";

// [B, T] int32: 0 .. T-1 in every stream.
OwnedTensor first_positions(const Shape& shape) {
  OwnedTensor positions(DType::kInt32, shape);
  for (int64_t b = 0; b < shape[0]; ++b) {
    int32_t* stream = positions.as<int32_t>() + b * shape[1];
    std::iota(stream, stream + shape[1], 0);
  }
  return positions;
}

// [B, T] int32: T-1 .. 0 in every stream.
OwnedTensor rest_of_segment(const Shape& shape) {
  OwnedTensor ahead = first_positions(shape);
  auto* rows = ahead.as<int32_t>();
  for (int64_t i = 0; i < shape.elements(); ++i) rows[i] = static_cast<int32_t>(shape[1] - 1 - rows[i]);
  return ahead;
}

}  // namespace

Transformer::Transformer(const ModelConfig& model, int64_t vocabulary)
    : config_(model),
      vocab_size_(vocabulary + (model.objective.is_masked() ? 1 : 0)),
      positions_(model),
      head_(make_head(model, vocab_size_)) {
  const auto schedules = std::make_shared<Schedules>();
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    layers_.push_back(make_block(model, positions_.of_layer(layer), schedules, layer));
}

std::vector<ParameterSpec> Transformer::parameter_specs() const {
  std::vector<ParameterSpec> specs;
  positions_.declare_shared(specs);
  declare_embedding(config_, vocab_size_, specs);
  for (const auto& layer : layers_) layer->declare(specs);
  if (config_.block.final_norm) declare_layer_norm(kFinalNorm, config_.d_model, specs);
  declare_output(config_, vocab_size_, specs);
  return specs;
}

// Dropout acts once: on the embedding, or on its sum with absolute positions.
Value Transformer::record_entry(SegmentTape& segment, Parameters& parameters, const Value& encoding) const {
  Tape& tape = segment.tape;
  const bool is_absolute = positions_.entry().terms().vectors;
  if (is_absolute) segment.positions = tape.constant(first_positions(tape.shape(segment.tokens)), DType::kInt32);
  const double p = is_absolute ? 0.0 : config_.dropout;
  const Value embedded = head_->embed_tokens(tape, parameters, segment.tokens, {.p = p, .site = kEmbeddingDropoutSite});
  return positions_.entry().enter(tape, parameters, embedded, encoding, segment.positions);
}

std::unique_ptr<SegmentTape> Transformer::record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                                 const ModelUse& use, const SegmentShape& shape) const {
  auto segment = std::make_unique<SegmentTape>(arena, mode, parameters.compute().activations);
  const bool remembers_states = shape.remembered == Remembered::kHiddenStates;
  const ModelUse reach{.mem_len = remembers_states ? shape.memory_length : 0, .clamp_len = use.clamp_len};
  check_position_tables(config_, reach, shape.tgt_len, "positions");
  Tape& tape = segment->tape;
  segment->tokens = tape.bound({shape.streams, shape.tgt_len}, DType::kInt32);
  if (shape.output == SegmentOutput::kLoss)
    segment->targets = tape.bound({shape.streams, shape.scored_tokens()}, DType::kInt32);
  const Shape rows{shape.streams, shape.tgt_len};
  if (shape.documents) segment->reach = tape.bound(rows, DType::kInt32);
  if (use.ahead)
    segment->ahead =
        shape.bounded_ahead ? tape.bound(rows, DType::kInt32) : tape.constant(rest_of_segment(rows), DType::kInt32);
  const auto is_read = [&](const PositionTerms& offered) {  // rows of distances come with a KV cache
    return remembers_states || offered.vectors || offered.biases;
  };
  const LayerPositions::Encodings encodings =
      positions_.encode(tape, use, shape.memory_length + shape.tgt_len, is_read);

  Residual residual{.sum = record_entry(*segment, parameters, encodings.entry), .branch = {}, .site = {}};
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const ModelUse here = use_of_layer(config_, use, layer);
    const bool has_rows = positions_.of_layer(layer).terms().rows;
    const int64_t distances = has_rows ? distances_of(shape.distances, here.clamp_len) : 0;
    const LayerInputs inputs{.memory = record_memory(*segment, shape, distances),
                             .encoding = encodings.layers[static_cast<size_t>(layer)],
                             .limits = {.reach = segment->reach, .ahead = segment->ahead},
                             .use = here};
    const LayerOutputs outputs = layers_[static_cast<size_t>(layer)]->apply(tape, parameters, residual, inputs);
    const Slot fresh = remembers_states ? outputs.hidden.data : outputs.qkv.data;
    tape.keep(fresh);
    segment->fresh.push_back(fresh);
    residual = outputs.residual;
  }
  const Value last = record_last(tape, parameters, residual);
  record_output(*segment, parameters, dropout(tape, last, {.p = config_.dropout, .site = kOutputDropoutSite}), shape);
  tape.seal();
  return segment;
}

// The output of the last layer: the sum of the residual and its last branch, normalised where that is asked for.
Value Transformer::record_last(Tape& tape, Parameters& parameters, const Residual& residual) const {
  if (config_.block.final_norm)
    return normalise(tape, residual, layer_norm(parameters, kFinalNorm, config_.block.layer_norm_epsilon));
  return residual.branch.data.exists() ? add(tape, residual) : residual.sum;
}

LayerMemory Transformer::record_memory(SegmentTape& segment, const SegmentShape& shape, int64_t distances) const {
  Tape& tape = segment.tape;
  LayerMemory memory;
  const auto bound = [&tape](const Shape& extents) { return Value{tape.bound(extents, tape.activations()), {}}; };
  if (shape.remembered == Remembered::kHiddenStates) {
    memory.hidden = bound({shape.streams, shape.memory_length, config_.d_model});
    segment.memories.push_back(memory.hidden.data);
    return memory;
  }
  const int64_t heads = config_.n_head * config_.d_head;
  memory.kv = bound({shape.streams, shape.memory_length, 2 * heads});
  segment.memories.push_back(memory.kv.data);
  if (distances > 0) memory.distances = bound({distances, heads});
  segment.distances.push_back(memory.distances.data);
  return memory;
}

void Transformer::record_output(SegmentTape& segment, Parameters& parameters, const Value& output,
                                const SegmentShape& shape) const {
  Tape& tape = segment.tape;
  if (shape.output == SegmentOutput::kLoss) {
    const Value scored = newest_rows(tape, output, shape.scored_tokens());
    const TokenLoss loss = head_->loss(tape, parameters, scored, {segment.targets, shape.margins});
    segment.nll = loss.nll;
    segment.margin = loss.margin;
    return;
  }
  segment.logits = head_->logits(tape, parameters, newest_rows(tape, output, 1));
  for (const Slot slot : segment.logits) tape.keep(slot);
}

std::unique_ptr<FrozenTape> Transformer::record_frozen(Arena& arena, Parameters& parameters, const ModelUse& use,
                                                       int64_t streams, int64_t tgt_len) const {
  check_position_tables(config_, use, tgt_len, "positions");
  auto frozen = std::make_unique<FrozenTape>(arena, parameters.compute().activations);
  Tape& tape = frozen->tape;
  const auto keep = [&tape](const Value& value, std::vector<Slot>& slots) {
    if (value.data.exists()) tape.keep(value.data);
    slots.push_back(value.data);
  };
  const OwnedTensor zeros(DType::kFloat32, {streams, use.starts_full() ? use.mem_len : 0, config_.d_model});
  const Value hidden{.data = tape.constant(zeros, tape.activations()), .gradient = {}};
  const LayerPositions::Encodings encodings =
      positions_.encode(tape, use, use.mem_len + tgt_len, [](const PositionTerms& offered) { return offered.rows; });
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const auto l = static_cast<size_t>(layer);
    keep(positions_.of_layer(layer).distances(tape, parameters, layer, encodings.layers[l]), frozen->distances);
    if (!use.starts_full()) continue;
    const ModelUse here = use_of_layer(config_, use, layer);
    keep(layers_[l]->keys_and_values(tape, parameters, hidden, here), frozen->zeros);
  }
  tape.seal();
  return frozen;
}

Flops Transformer::flops(Parameters& parameters, const ModelUse& use, const SegmentShape& shape) const {
  Arena unused(parameters.compute().device);
  return record(unused, Tape::Mode::kTraining, parameters, use, shape)->tape.flops();
}

int64_t Transformer::schedule_bytes(const ModelUse& use, const SegmentShape& shape) const {
  std::vector<ScheduledLayer> counted;
  int64_t words = 0;
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const ModelUse here = use_of_layer(config_, use, layer);
    ScheduledLayer layer_seen = scheduled_layer(here, config_.n_head, shape.tgt_len, {});
    if (here.patterns.empty() || std::ranges::find(counted, layer_seen) != counted.end()) continue;
    counted.push_back(std::move(layer_seen));
    words += std::ssize(schedule_of(here, config_.n_head, shape.tgt_len, shape.memory_length)->words());
  }
  return words * bytes_of(DType::kInt64);
}

std::optional<Masking> training_masking(const Transformer& model, uint64_t seed) {
  const ObjectiveConfig& objective = model.config().objective;
  if (!objective.is_masked()) return std::nullopt;
  return Masking{.rate = objective.mask_rate,
                 .mask_token_share = objective.mask_token_share,
                 .random_token_share = objective.random_token_share,
                 .vocabulary = model.vocab_size() - 1,
                 .seed = seed};
}

std::optional<Masking> evaluation_masking(const Transformer& model) {
  if (!model.config().objective.is_masked()) return std::nullopt;
  return Masking{.vocabulary = model.vocab_size() - 1};
}

SegmentShape full_segment(const ModelUse& use, int64_t streams, int64_t tgt_len, int64_t scored) {
  return {.streams = streams, .tgt_len = tgt_len, .memory_length = use.mem_len, .scored = scored};
}

namespace {

// The position of the oldest token that reaches a query, both counted from the first of the query's segment.
int64_t oldest_in_reach(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, int64_t query) {
  int64_t oldest = query;
  for (int64_t layer = model.n_layer - 1; layer >= 0; --layer) {
    const int64_t segments_back = (tgt_len - 1 - oldest) / tgt_len;
    // Segments begin where periods do.
    const int64_t seen = keys_in_reach(use_of_layer(model, use, layer), oldest + segments_back * tgt_len);
    const int64_t oldest_key = -segments_back * tgt_len - use.mem_len;
    oldest = seen > 0 ? std::max(oldest_key, oldest - seen + 1) : oldest_key;
  }
  return oldest;
}

}  // namespace

int64_t reach_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len) {
  return tgt_len - 1 - oldest_in_reach(model, use, tgt_len, tgt_len - 1);
}

int64_t warm_up_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len) {
  const int64_t before = -oldest_in_reach(model, use, tgt_len, 0);
  return (before + tgt_len - 1) / tgt_len * tgt_len;
}

}  // namespace segue
