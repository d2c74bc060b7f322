// The path of a segment: embed, L blocks that each read their own memory, the head's loss.
#include "core/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/attention/schedules.h"
#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

// [B, T] int32: 0 .. period-1 in every stream, and again.
OwnedTensor numbers(const Shape& shape, int64_t period) {
  OwnedTensor numbers(DType::kInt32, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) numbers.as<int32_t>()[i] = static_cast<int32_t>(i % shape[1] % period);
  return numbers;
}

// [B, T] int32: T-1 .. 0 in every stream.
OwnedTensor rest_of_segment(const Shape& shape) {
  OwnedTensor ahead = numbers(shape, shape[1]);
  auto* rows = ahead.as<int32_t>();
  for (int64_t i = 0; i < shape.elements(); ++i) rows[i] = static_cast<int32_t>(shape[1] - 1 - rows[i]);
  return ahead;
}

// The newest `count` of some rows, oldest first; fewer if there are no more.
std::vector<StreamRows> newest_of(std::vector<StreamRows> rows, int64_t count) {
  for (size_t i = rows.size(); i-- > 0;) {
    const int64_t kept = std::min(rows[i].count, count);
    rows[i].first += rows[i].count - kept;
    rows[i].count = kept;
    count -= kept;
  }
  return rows;
}

int64_t count_of(const std::vector<StreamRows>& rows) {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0},
                         [](int64_t sum, const StreamRows& each) { return sum + each.count; });
}

}  // namespace

Transformer::Transformer(const ModelConfig& model, int64_t vocabulary)
    : config_(model),
      vocabulary_(vocabulary),
      vocab_size_(tokens_of_tables(model, vocabulary)),
      positions_(model),
      layers_(make_layers(model, positions_)),
      encoder_(memory_encoder_of(model)),
      head_(make_head(model, vocab_size_)) {}

// Dropout acts once: on the embedding, or on its sum with absolute positions, which begin anew with every segment.
Value Transformer::record_entry(Step& step) const {
  Tape& tape = step.segment.tape;
  const Position& entry = positions_.entry();
  const bool is_absolute = entry.terms().vectors;
  const Slot tokens = step.segment.tokens;
  if (is_absolute)
    step.segment.positions = tape.constant(numbers(tape.shape(tokens), step.shape.longest_segment()), DType::kInt32);
  const double p = is_absolute ? 0.0 : config_.dropout;
  const Value embedded = head_->embed_tokens(tape, step.parameters, tokens, {.p = p, .site = kEmbeddingDropoutSite});
  const int64_t keys = step.shape.memory_length + step.use.rows_of(step.shape.longest_segment());
  return entry.enter(tape, step.parameters, embedded, encodings_for(step, keys).entry, step.segment.positions);
}

const LayerPositions::Encodings& Transformer::encodings_for(Step& step, int64_t keys) const {
  const auto found = step.encodings.find(keys);
  if (found != step.encodings.end()) return found->second;
  const bool makes_rows = step.shape.remembered != Remembered::kKvCache;
  const auto is_read = [makes_rows](const PositionTerms& offered) {  // rows of distances come with a KV cache
    return makes_rows || offered.vectors || offered.biases;
  };
  return step.encodings[keys] = positions_.encode(step.segment.tape, step.use, keys, is_read);
}

// Tokens that are learned, the same of every stream.
Value Transformer::learned_tokens(Step& step, const char* name, int64_t count) const {
  Tape& tape = step.segment.tape;
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(config_.d_model)));  // as that of other tokens
  const Slot rows = tape.constant(numbers({step.shape.streams, count}, count), DType::kInt32);
  return embed(tape, rows, step.parameters[name], {.scale = scale});
}

// The memory tokens that the first segment reads.
Value Transformer::record_read_tokens(Step& step) const {
  if (step.shape.begins_streams) return learned_tokens(step, kInitialTokens, memory_tokens(config_));
  Tape& tape = step.segment.tape;
  const Shape tokens{step.shape.streams, memory_tokens(config_), config_.d_model};
  step.segment.read_tokens = tape.bound(tokens, tape.activations());
  return {.data = step.segment.read_tokens, .gradient = {}};
}

std::unique_ptr<SegmentTape> Transformer::record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                                 const ModelUse& use, const SegmentShape& shape) const {
  auto segment = std::make_unique<SegmentTape>(arena, mode, parameters.compute().activations);
  const bool is_frozen = shape.remembered == Remembered::kKvCache;
  const ModelUse reach{.mem_len = is_frozen ? 0 : shape.memory_length,
                       .clamp_len = use.clamp_len,
                       .memory_tokens = use.memory_tokens,
                       .read_tokens = use.read_tokens,
                       .global_tokens = use.global_tokens};
  check_position_tables(config_, reach, shape.longest_segment(), "positions");
  Tape& tape = segment->tape;
  segment->tokens = tape.bound({shape.streams, shape.tgt_len}, DType::kInt32);
  if (shape.output == SegmentOutput::kLoss)
    segment->targets = tape.bound({shape.streams, shape.scored_tokens()}, DType::kInt32);
  const Shape rows{shape.streams, shape.tgt_len};
  if (shape.documents) segment->reach = tape.bound(rows, DType::kInt32);
  if (use.ahead) {
    const Shape of_all{shape.streams, use.rows_of(shape.tgt_len)};
    segment->ahead =
        shape.bounded_ahead ? tape.bound(of_all, DType::kInt32) : tape.constant(rest_of_segment(of_all), DType::kInt32);
  }

  Step step{.segment = *segment, .parameters = parameters, .use = use, .shape = shape};
  step.embedded = record_entry(step);
  bind_memory(step);
  const bool writes_read = shape.closes && !writes_own_tokens(config_);
  if (read_tokens(config_) > 0 && (shape.opens || writes_read)) step.memory_tokens = record_read_tokens(step);
  std::vector<StreamRows> outputs;
  const int64_t segments = (shape.tgt_len + shape.longest_segment() - 1) / shape.longest_segment();
  for (int64_t number = 0; number < segments; ++number) outputs.push_back(record_segment(step, number));
  keep_carried(step);
  keep_fresh(step);
  const DropoutSite site{.p = config_.dropout, .site = kOutputDropoutSite};
  record_output(*segment, parameters, dropout(tape, join_rows(tape, std::move(outputs)), site), shape);
  tape.seal();
  return segment;
}

// A segment is read as so many rows: the memory tokens or the global stream, its own, and where memory tokens are
// written. Returns the rows of its own in the model's output.
StreamRows Transformer::record_segment(Step& step, int64_t number) const {
  Tape& tape = step.segment.tape;
  const SegmentShape& shape = step.shape;
  const int64_t first = number * shape.longest_segment();
  const int64_t count = std::min(shape.longest_segment(), shape.tgt_len - first);
  const bool is_last = first + count == shape.tgt_len;
  const int64_t read = number > 0 || shape.opens ? read_tokens(config_) : 0;
  const int64_t written = !is_last || shape.closes ? memory_tokens(config_) : 0;
  std::vector<StreamRows> rows{{step.embedded, first, count}};
  if (written > 0) {
    const bool are_own = writes_own_tokens(config_);
    rows.push_back({are_own ? learned_tokens(step, kWrittenTokens, written) : step.memory_tokens, 0, written});
  }
  if (read > 0) rows.insert(rows.begin(), {step.memory_tokens, 0, read});
  const int64_t global = config_.global_stream.tokens;
  if (global > 0) rows.insert(rows.begin(), {learned_tokens(step, kGlobalTokens, global), 0, global});
  Residual residual{.sum = join_rows(tape, std::move(rows)), .branch = {}, .site = {}};
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    if (layers_[layer].associations) record_reading(step, layer, residual);
    const LayerMemory memory = memory_of(step, layer);
    const int64_t remembered = memory.rows.data.exists() ? tape.shape(memory.rows.data)[1] : 0;
    const int64_t keys = remembered + global + read + count + written;
    const bool attends = !keeps_state(config_, static_cast<int64_t>(layer));
    const LayerInputs inputs{.memory = memory,
                             .encoding = attends ? encodings_for(step, keys).layers[layer] : Value(),
                             .limits = {.reach = step.segment.reach, .ahead = step.segment.ahead},
                             .use = use_of_layer(config_, step.use, static_cast<int64_t>(layer), shape.window_share),
                             .segment = number,
                             .is_read_on = !is_last};
    const LayerOutputs outputs = layers_[layer].block->apply(tape, step.parameters, residual, inputs);
    if (!outputs.states.empty()) {
      step.memories[layer].states = outputs.states;
      step.memories[layer].begun.clear();
    }
    if (attends) step.fresh[layer].push_back({without_gradient(outputs.fresh), global, read + count + written});
    if (layers_[layer].compressor) record_compression(step, layer, outputs);
    residual = outputs.residual;
    if (layers_[layer].associations && written > 0) record_writing(step, layer, residual, read + count, !is_last);
  }
  const Value last = output_of_layers(tape, step.parameters, residual, config_.block, kFinalNorm);
  if (written > 0 && read_tokens(config_) > 0) {
    // What the last segment writes, nothing reads on this tape.
    const Value& from = is_last ? without_gradient(last) : last;
    step.memory_tokens = join_rows(tape, {{from, read + count, written}});
    if (is_last) {
      step.segment.written_tokens = step.memory_tokens.data;
      tape.keep(step.segment.written_tokens);
    }
  }
  return {last, global + read, count};
}

// Adds to the input of a layer what it reads of its associations.
void Transformer::record_reading(Step& step, size_t layer, Residual& residual) const {
  Tape& tape = step.segment.tape;
  const Value input = sum_of(tape, residual);
  const Associations& associations = *layers_[layer].associations;
  const Value read = associations.read(tape, step.parameters, input, step.memories[layer].states.front());
  residual = {.sum = add(tape, {.sum = input, .branch = read, .site = {}}), .branch = {}, .site = {}};
}

// Writes memory tokens, the rows of a layer's output from `first` on, into its associations.
void Transformer::record_writing(Step& step, size_t layer, Residual& residual, int64_t first, bool is_read_on) const {
  Tape& tape = step.segment.tape;
  Value& state = step.memories[layer].states.front();
  residual = {.sum = sum_of(tape, residual), .branch = {}, .site = {}};
  const Value from = is_read_on ? residual.sum : without_gradient(residual.sum);
  const Value written = join_rows(tape, {{from, first, memory_tokens(config_)}});
  state = layers_[layer].associations->write(tape, step.parameters, written, state, is_read_on);
}

// What the encoder makes of tokens [B, M]: [B, M, D].
Value Transformer::record_encoding(Tape& tape, Parameters& parameters, Slot tokens, const ModelUse& use) const {
  const Shape shape = tape.shape(tokens);
  if (shape[1] == 0) {
    const OwnedTensor nothing(DType::kFloat32, {shape[0], 0, config_.d_model});
    return {.data = tape.constant(nothing, tape.activations()), .gradient = {}};
  }
  const DropoutSite site{.p = config_.dropout, .site = kEncoderDropoutSite};
  const Value embedded = head_->embed_tokens(tape, parameters, tokens, site);
  const Slot ahead = tape.constant(rest_of_segment(shape), DType::kInt32);
  return encoder_->encode(tape, parameters, embedded, ahead, use);
}

// Binds what every layer remembers of earlier steps, or the tokens of which an encoder makes it.
void Transformer::bind_memory(Step& step) const {
  SegmentTape& segment = step.segment;
  Tape& tape = segment.tape;
  const SegmentShape& shape = step.shape;
  const int64_t width = remembered_width(config_, shape.remembered);
  const auto bound = [&tape](const Shape& extents) { return Value{tape.bound(extents, tape.activations()), {}}; };
  Value encoded;
  if (encoder_ && shape.remembered != Remembered::kKvCache) {
    segment.earlier = tape.bound({shape.streams, shape.memory_length}, DType::kInt32);
    encoded = record_encoding(tape, step.parameters, segment.earlier, step.use);
  }
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    LayerMemory& memory = step.memories.emplace_back();
    memory.form = shape.remembered;
    for (const CarriedTensor& carried : carried_tensors(config_, layer)) {
      const Shape of_all = of_streams(shape.streams, carried.shape);
      CarriedSlots& slots = segment.carried.emplace_back();
      slots.before = tape.bound(of_all, DType::kFloat32);
      memory.states.push_back({.data = slots.before, .gradient = {}});
      if (shape.opens || carried.change != CarriedChange::kGathered) continue;
      slots.begun = tape.bound(of_all, DType::kFloat32);
      memory.begun.push_back({.data = slots.begun, .gradient = {}});
    }
    if (keeps_state(config_, layer)) continue;
    memory.rows = encoded.data.exists() ? encoded : bound({shape.streams, shape.memory_length, width});
    if (!encoded.data.exists()) segment.memories.push_back(memory.rows.data);
    if (keeps_most_used(config_) && shape.pushed_out > 0) memory.received.push_back(received_by(step));
    if (shape.attention && shape.memory_length > 0) memory.received.push_back(received_by_all(step));
    if (shape.remembered != Remembered::kKvCache) continue;
    const bool has_rows = positions_.of_layer(layer).terms().rows;
    const int64_t distances =
        has_rows ? distances_of(shape.distances, use_of_layer(config_, step.use, layer).clamp_len) : 0;
    if (distances > 0) memory.distances = bound({distances, config_.n_head * config_.d_head});
    segment.distances.push_back(memory.distances.data);
  }
  step.fresh.resize(layers_.size());
}

// What a layer remembers of the segments before the next one.
LayerMemory Transformer::memory_of(const Step& step, size_t layer) const {
  LayerMemory memory = step.memories[layer];
  if (step.fresh[layer].empty()) return memory;
  std::vector<StreamRows> rows{{memory.rows, 0, step.shape.memory_length}};
  rows.insert(rows.end(), step.fresh[layer].begin(), step.fresh[layer].end());
  rows = newest_of(std::move(rows), step.shape.most_remembered);
  if (count_of(rows) > 0) memory.rows = join_rows(step.segment.tape, std::move(rows));
  return memory;
}

// Keeps what layers hand on to the next segment, or, of one that does not end here, to its next part.
void Transformer::keep_carried(Step& step) const {
  size_t number = 0;
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const std::vector<CarriedTensor> carried = carried_tensors(config_, layer);
    for (size_t i = 0; i < carried.size(); ++i) {
      const Slot state = step.memories[static_cast<size_t>(layer)].states[i].data;
      CarriedSlots& slots = step.segment.carried[number++];
      const bool has_changed = step.shape.closes || carried[i].change == CarriedChange::kWithTokens;
      if (!has_changed && carried[i].change != CarriedChange::kGathered) continue;
      (has_changed ? slots.after : slots.new_begun) = state;
      step.segment.tape.keep(state);
    }
  }
}

// Keeps of every layer what may become its rows of memory.
void Transformer::keep_fresh(Step& step) const {
  Tape& tape = step.segment.tape;
  if (step.segment.earlier.exists()) return;  // the tokens are
  for (std::vector<StreamRows>& rows : step.fresh) {
    if (rows.empty()) continue;  // of a layer with a state
    const bool is_cut = rows.size() > 1 && step.shape.most_remembered > 0;
    if (is_cut) rows = newest_of(std::move(rows), step.shape.most_remembered);
    // Of a segment's rows a memory takes the newest; those of a global stream only where it has room for more.
    const bool is_part = rows.back().first > 0 && step.use.mem_len > rows.back().count;
    const Slot fresh = is_cut || is_part ? join_rows(tape, rows).data : rows.back().from.data;
    tape.keep(fresh);
    step.segment.fresh.push_back(fresh);
  }
}

// What a layer's rows that the segment pushes out receive, of a KV cache together with what its parts before gave them.
ReceivedAttention Transformer::received_by(Step& step) const {
  Tape& tape = step.segment.tape;
  const Shape sums{step.shape.streams, config_.n_head, step.shape.pushed_out};
  ReceivedAttention received{.sums = tape.new_slot(sums), .before = {}, .first = step.shape.compressed};
  if (step.shape.remembered == Remembered::kKvCache) {
    received.before = tape.bound(sums, DType::kFloat32);
    tape.keep(received.sums);
  }
  step.segment.received.push_back(received);
  return received;
}

// By all rows of a layer's memory.
ReceivedAttention Transformer::received_by_all(Step& step) const {
  Tape& tape = step.segment.tape;
  const ReceivedAttention received{
      .sums = tape.new_slot({step.shape.streams, config_.n_head, step.shape.memory_length}), .before = {}};
  tape.keep(received.sums);
  step.segment.attention.push_back(received.sums);
  return received;
}

// The rows that the segment pushes out of a memory [B, M, D].
Value Transformer::pushed_out_of(Tape& tape, const Value& memory, const SegmentShape& shape) const {
  return copied_rows(tape, {memory, shape.compressed, shape.pushed_out});
}

// What becomes of rows that the segment pushes out, and in training the loss of that, from which nothing else learns:
// rows, what they became in memory, and the layer's input are constants, and so are its weights.
void Transformer::record_compression(Step& step, size_t layer, const LayerOutputs& read) const {
  SegmentTape& segment = step.segment;
  Tape& tape = segment.tape;
  if (step.shape.remembered == Remembered::kKvCache) {  // compressed between segments
    tape.keep(read.input.data);
    segment.inputs.push_back(read.input.data);
    return;
  }
  if (step.shape.pushed_out == 0) return;
  const Value rows = pushed_out_of(tape, step.memories[layer].rows, step.shape);
  const Value compressed = layers_[layer].compressor->compress(
      tape, step.parameters, rows, keeps_most_used(config_) ? segment.received[layer].sums : Slot());
  tape.keep(compressed.data);
  segment.compressed.push_back(compressed.data);
  const ReconstructionKind kind = reconstruction_of(config_.memory);
  if (!tape.training() || kind == ReconstructionKind::kNone) return;
  Distance distance{.constant = rows, .x = {}, .weight = config_.memory.reconstruction_weight};
  if (kind == ReconstructionKind::kAttention) {
    const std::vector<Value> contents =
        layers_[layer].block->contents_of(tape, step.parameters, read, {without_gradient(rows), compressed});
    distance.constant = contents[0];
    distance.x = contents[1];
  } else {
    distance.x = layers_[layer].compressor->find_again(tape, step.parameters, compressed);
  }
  const bool is_first = !segment.reconstruction.exists();
  if (is_first) {
    segment.reconstruction = tape.new_slot({step.shape.streams});
    tape.keep(segment.reconstruction);
  }
  add_distance(tape, distance, segment.reconstruction, is_first);
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

Flops Transformer::flops(Parameters& parameters, const ModelUse& use, const SegmentShape& shape) const {
  Arena unused(parameters.compute().device);
  return record(unused, Tape::Mode::kTraining, parameters, use, shape)->tape.flops();
}

int64_t Transformer::schedule_bytes(const ModelUse& use, const SegmentShape& shape) const {
  std::vector<ScheduledLayer> counted;
  int64_t words = 0;
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const ModelUse here = use_of_layer(config_, use, layer, shape.window_share);
    const int64_t rows = use.rows_of(shape.tgt_len);
    ScheduledLayer layer_seen = scheduled_layer(here, config_.n_head, rows, {});
    if (here.patterns.empty() || std::ranges::find(counted, layer_seen) != counted.end()) continue;
    counted.push_back(std::move(layer_seen));
    words += std::ssize(schedule_of(here, config_.n_head, rows, shape.memory_length)->words());
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

Remembered remembered_in_training(const ModelConfig& model) {
  switch (model.memory.kind) {
    case MemoryKind::kHiddenStates:
    case MemoryKind::kTokens:
    case MemoryKind::kAssociative:
    case MemoryKind::kInfini:
    case MemoryKind::kCompressed:
    case MemoryKind::kEncoder:
      return Remembered::kHiddenStates;
    case MemoryKind::kKeysValues:
      return Remembered::kKeysAndValues;
  }
  throw ContractError("unknown kind of memory");
}

int64_t remembered_width(const ModelConfig& model, Remembered form) {
  return form == Remembered::kHiddenStates ? model.d_model : 2 * model.n_head * model.d_head;
}

SegmentShape full_segment(const ModelConfig& model, const ModelUse& use, int64_t streams, int64_t tgt_len,
                          int64_t scored) {
  SegmentShape shape{.streams = streams,
                     .tgt_len = tgt_len,
                     .memory_length = use.memory_rows(),
                     .scored = scored,
                     .remembered = remembered_in_training(model),
                     .most_remembered = use.memory_tokens > 0 || hands_on_states(model) ? use.mem_len : 0};
  shape.compressed = use.compressed_len;
  if (use.compressed_len > 0) shape.pushed_out = use.pushed_out(use.uncompressed_rows(), tgt_len);
  return shape;
}

}  // namespace segue
