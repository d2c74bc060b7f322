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
Value Transformer::record_entry(SegmentTape& segment, Parameters& parameters) const {
  Tape& tape = segment.tape;
  if (position_->is_absolute()) segment.places = tape.constant(first_places(tape.shape(segment.tokens)), DType::kInt32);
  const double p = position_->is_absolute() ? 0.0 : config_.dropout;
  const Value embedded = head_->embed_tokens(tape, parameters, segment.tokens, {.p = p, .site = kEmbeddingDropoutSite});
  return position_->enter(tape, parameters, embedded, segment.places);
}

std::unique_ptr<SegmentTape> Transformer::record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                                 const SegmentShape& shape) const {
  auto segment = std::make_unique<SegmentTape>(arena, mode, parameters.compute().activations);
  Tape& tape = segment->tape;
  segment->tokens = tape.bound({shape.streams, shape.tgt_len}, DType::kInt32);
  segment->targets = tape.bound({shape.streams, shape.scored_tokens()}, DType::kInt32);
  const Value encoding = position_->encode(tape, shape.memory_length + shape.tgt_len);

  Residual stream{.stream = record_entry(*segment, parameters), .branch = {}, .site = {}};
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const Slot memory = tape.bound({shape.streams, shape.memory_length, config_.d_model}, tape.activations());
    const Value memory_value{.data = memory, .gradient = {}};
    const LayerOutputs outputs =
        block_->apply(tape, parameters, stream, {.layer = layer, .memory = memory_value, .encoding = encoding});
    tape.keep(outputs.hidden.data);
    segment->memories.push_back(memory);
    segment->hidden.push_back(outputs.hidden.data);
    stream = outputs.residual;
  }
  const Value last = stream.branch.data.exists() ? add(tape, stream) : stream.stream;
  const Value output = dropout(tape, last, {.p = config_.dropout, .site = kOutputDropoutSite});
  const Value scored = newest_rows(tape, output, shape.scored_tokens());
  segment->nll = head_->loss(tape, parameters, scored, segment->targets);
  tape.seal();
  return segment;
}

SegmentMemory Transformer::make_memory(int64_t streams, const Compute& compute) const {
  return SegmentMemory({.layers = config_.n_layer,
                        .streams = streams,
                        .capacity = config_.mem_len,
                        .d_model = config_.d_model,
                        .starts_full = config_.memory.initial == InitialMemory::kZeros},
                       compute);
}

namespace {

// Pairs of query and key of one stream and head that are not masked.
double visible_pairs(const ModelConfig& model, const SegmentShape& shape) {
  const int64_t window = visible_window(model);
  double pairs = 0.0;
  for (int64_t i = 0; i < shape.tgt_len; ++i) {
    const int64_t earlier = shape.memory_length + i + 1;
    pairs += static_cast<double>(window > 0 ? std::min(window, earlier) : earlier);
  }
  return pairs;
}

// Multiply-adds of a token in the embedding's and the output's products.
double head_products(const ModelConfig& model, int64_t vocab_size) {
  const std::vector<VocabularyCluster> clusters = vocabulary_clusters(model, vocab_size);
  const VocabularyCluster& frequent = clusters.front();
  const auto columns = static_cast<double>(frequent.words + std::ssize(clusters) - 1);
  const double projections = frequent.projection.empty() ? 0.0 : 2.0 * static_cast<double>(model.d_model);
  return static_cast<double>(frequent.width) * (columns + projections);
}

}  // namespace

double forward_flops(const ModelConfig& model, int64_t vocab_size, const SegmentShape& shape) {
  const auto d_model = static_cast<double>(model.d_model);
  const auto heads = static_cast<double>(model.n_head * model.d_head);
  const auto streams = static_cast<double>(shape.streams);
  const double tokens = streams * static_cast<double>(shape.tgt_len);
  const double memory = streams * static_cast<double>(shape.memory_length);
  const auto keys = static_cast<double>(shape.memory_length + shape.tgt_len);

  const double projections = (3.0 * tokens + 2.0 * memory + keys) * d_model * heads + tokens * heads * d_model;
  const double attention = 3.0 * streams * visible_pairs(model, shape) * heads;  // content, position, values
  const double feed_forward = 2.0 * tokens * d_model * static_cast<double>(model.d_inner);
  return 2.0 * (static_cast<double>(model.n_layer) * (projections + attention + feed_forward) +
                streams * static_cast<double>(shape.scored_tokens()) * head_products(model, vocab_size));
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
