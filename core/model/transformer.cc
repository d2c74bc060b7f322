// The path of a segment: embed, L blocks that each read their own memory, the head's loss.
#include "core/model/transformer.h"

#include <algorithm>
#include <utility>

#include "core/attention/schedules.h"
#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/kinds/learned_tokens.h"
#include "core/kinds/row_numbers.h"
#include "core/model/layers.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

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

// The segments of a step, one after another.
std::vector<SegmentOfStep> segments_of(const SegmentShape& shape) {
  std::vector<SegmentOfStep> segments;
  for (int64_t first = 0; first < shape.tgt_len; first += shape.longest_segment()) {
    SegmentOfStep segment{.number = std::ssize(segments),
                          .first = first,
                          .count = std::min(shape.longest_segment(), shape.tgt_len - first)};
    segment.is_last = first + segment.count == shape.tgt_len;
    segment.opens = first > 0 || shape.opens;
    segment.closes = !segment.is_last || shape.closes;
    segments.push_back(segment);
  }
  return segments;
}

}  // namespace

Transformer::Transformer(const ModelConfig& model, int64_t vocabulary)
    : config_(model),
      vocabulary_(vocabulary),
      vocab_size_(tokens_of_tables(model, vocabulary)),
      depth_(model),
      positions_(model),
      memory_(make_model_memory(model)),
      layers_(make_layers(model, positions_, *memory_)),
      head_(make_head(model, vocab_size_)) {}

// Dropout acts once: on the embedding, or on its sum with absolute positions, which begin anew with every segment.
Value Transformer::record_entry(Step& step) const {
  Tape& tape = step.segment.tape;
  const Position& entry = positions_.entry();
  const bool is_absolute = entry.terms().vectors;
  const Slot tokens = step.segment.tokens;
  if (is_absolute)
    step.segment.positions =
        tape.constant(row_numbers(tape.shape(tokens), step.shape.longest_segment()), DType::kInt32);
  const double p = is_absolute ? 0.0 : config_.dropout;
  const Value embedded = head_->embed_tokens(tape, step.parameters, tokens, {.p = p, .site = kEmbeddingDropoutSite});
  const int64_t keys = step.shape.memory_rows + step.use.rows_of(step.shape.longest_segment());
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

std::unique_ptr<SegmentTape> Transformer::record(Arena& arena, Tape::Mode mode, Parameters& parameters,
                                                 const ModelUse& use, const SegmentShape& shape) const {
  auto segment = std::make_unique<SegmentTape>(arena, mode, parameters.compute().activations);
  segment->tape.recompute(shape.recompute);
  const bool is_frozen = shape.remembered == Remembered::kKvCache;
  const ModelUse reach{.mem_len = is_frozen ? 0 : shape.memory_rows,
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
        shape.bounded_ahead ? tape.bound(of_all, DType::kInt32) : tape.constant(rows_after_each(of_all), DType::kInt32);
  }

  Step step{{.segment = *segment, .parameters = parameters, .use = use, .shape = shape, .head = *head_}};
  step.stations = memory_->stations(step);
  step.embedded = record_entry(step);
  bind_memory(step);
  std::vector<StreamRows> outputs;
  for (const SegmentOfStep& each : segments_of(shape)) outputs.push_back(record_segment(step, each));
  keep_carried(step);
  keep_fresh(step);
  const DropoutSite site{.p = config_.dropout, .site = kOutputDropoutSite};
  record_output(step, dropout(tape, join_rows(tape, std::move(outputs)), site));
  tape.seal();
  return segment;
}

// A segment is read as so many rows: the global stream, what a memory puts before its tokens, these, and what it puts
// after them. Returns the rows of its tokens in the model's output.
StreamRows Transformer::record_segment(Step& step, SegmentOfStep segment) const {
  Tape& tape = step.tape();
  const StreamRows after = step.stations->rows_after(segment);
  const StreamRows before = step.stations->rows_before(segment);
  segment.before = before.count;
  segment.after = after.count;
  segment.global = config_.global_stream.tokens;
  std::vector<StreamRows> rows{before, {step.embedded, segment.first, segment.count}, after};
  if (segment.global > 0) {
    const Shape global{step.shape.streams, segment.global, config_.d_model};
    rows.insert(rows.begin(), {learned_tokens(tape, step.parameters, kGlobalTokens, global), 0, segment.global});
  }
  std::erase_if(rows, [](const StreamRows& part) { return part.count == 0; });
  Residual residual{.sum = join_rows(tape, std::move(rows)), .branch = {}, .site = {}};
  Depth::Passes passes(depth_, tape, step.parameters, step.shape.tgt_len);
  for (int64_t layer = 0; layer < config_.n_layer; ++layer)
    residual = record_layer(step, segment, passes, layer, residual);
  if (passes.taken().exists()) step.segment.passes.push_back(passes.taken());
  const Value last = output_of_layers(tape, step.parameters, passes.output(residual), config_.block, kFinalNorm);
  step.stations->close(segment, last);
  return {last, segment.first_own(), segment.count};
}

Residual Transformer::record_layer(Step& step, const SegmentOfStep& segment, Depth::Passes& passes, int64_t layer,
                                   Residual residual) const {
  const auto l = static_cast<size_t>(layer);
  residual = passes.entered(layer, residual);
  step.stations->before_layer(layer, residual);
  LayerOutputs outputs = record_block(step, segment, layer, residual);
  if (!outputs.states.empty()) {
    step.memories[l].states = outputs.states;
    step.memories[l].begun.clear();
  }
  if (!keeps_state(config_, layer))
    step.fresh[l].push_back({without_gradient(outputs.fresh), segment.global, segment.rows() - segment.global});
  step.stations->after_layer(segment, layer, *layers_[l], outputs);
  return passes.left(layer, outputs.residual);
}

LayerOutputs Transformer::record_block(Step& step, const SegmentOfStep& segment, int64_t layer,
                                       const Residual& residual) const {
  Tape& tape = step.tape();
  const auto l = static_cast<size_t>(layer);
  const RecomputedPart part(tape, Recompute::kBlock);
  const LayerMemory memory = memory_of(step, layer);
  const int64_t remembered = memory.rows.data.exists() ? tape.shape(memory.rows.data)[1] : 0;
  const bool attends = !keeps_state(config_, layer);
  const LayerInputs inputs{.memory = memory,
                           .encoding = attends ? encodings_for(step, remembered + segment.rows()).layers[l] : Value(),
                           .limits = {.reach = step.segment.reach, .ahead = step.segment.ahead},
                           .use = use_of_layer(config_, step.use, layer, step.shape.window_share),
                           .segment = segment.number,
                           .is_read_on = !segment.is_last};
  return layers_[l]->apply(tape, step.parameters, residual, inputs);
}

// Binds what every layer remembers of earlier steps.
void Transformer::bind_memory(Step& step) const {
  SegmentTape& segment = step.segment;
  Tape& tape = segment.tape;
  const SegmentShape& shape = step.shape;
  const int64_t width = remembered_width(config_, shape.remembered);
  step.stations->open();
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
    memory.rows = step.stations->remembered_rows({shape.streams, shape.memory_rows, width});
    step.stations->ask_about(memory);
    if (shape.attention && shape.memory_rows > 0) memory.received.push_back(received_by_all(step));
    if (shape.remembered != Remembered::kKvCache) continue;
    const bool has_rows = positions_.of_layer(layer).terms().rows;
    const int64_t distances =
        has_rows ? distances_of(shape.distances, use_of_layer(config_, step.use, layer).clamp_len) : 0;
    if (distances > 0)
      memory.distances = {tape.bound({distances, config_.n_head * config_.d_head}, tape.activations()), {}};
    segment.distances.push_back(memory.distances.data);
  }
  step.fresh.resize(layers_.size());
}

// What a layer remembers of the segments before the next one.
LayerMemory Transformer::memory_of(const Step& step, int64_t layer) const {
  LayerMemory memory = step.memories[static_cast<size_t>(layer)];
  const std::vector<StreamRows>& fresh = step.fresh[static_cast<size_t>(layer)];
  if (fresh.empty()) return memory;
  std::vector<StreamRows> rows{{memory.rows, 0, step.shape.memory_rows}};
  rows.insert(rows.end(), fresh.begin(), fresh.end());
  rows = newest_of(std::move(rows), step.shape.mem_len);
  std::erase_if(rows, [](const StreamRows& part) { return part.count == 0; });
  if (rows.empty()) return memory;
  // A layer turns keys where they lie, and those of a segment are read again.
  const bool are_copied = rows.size() == 1 && memory.form == Remembered::kKeysAndValues;
  memory.rows = are_copied ? copied_rows(step.tape(), rows.front()) : join_rows(step.tape(), std::move(rows));
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
  if (!step.stations->remembers_rows()) return;
  for (std::vector<StreamRows>& rows : step.fresh) {
    if (rows.empty()) continue;  // of a layer with a state
    const bool is_cut = rows.size() > 1 && step.shape.mem_len > 0;
    if (is_cut) rows = newest_of(std::move(rows), step.shape.mem_len);
    // Of a segment's rows a memory takes the newest; those of a global stream only where it has room for more.
    const bool is_part = rows.back().first > 0 && step.use.mem_len > rows.back().count;
    const Slot fresh = is_cut || is_part ? join_rows(tape, rows).data : rows.back().from.data;
    tape.keep(fresh);
    step.segment.fresh.push_back(fresh);
  }
}

// What all rows of a layer's memory receive.
ReceivedAttention Transformer::received_by_all(Step& step) const {
  Tape& tape = step.segment.tape;
  const ReceivedAttention received{.sums = tape.new_slot({step.shape.streams, config_.n_head, step.shape.memory_rows}),
                                   .before = {}};
  tape.keep(received.sums);
  step.segment.attention.push_back(received.sums);
  return received;
}

void Transformer::record_output(Step& step, const Value& output) const {
  SegmentTape& segment = step.segment;
  Tape& tape = segment.tape;
  if (step.shape.output == SegmentOutput::kLoss) {
    const Value scored = newest_rows(tape, output, step.shape.scored_tokens());
    const TokenLoss loss = head_->loss(tape, step.parameters, scored, {segment.targets, step.shape.margins});
    segment.nll = loss.nll;
    segment.margin = loss.margin;
    return;
  }
  segment.logits = head_->logits(tape, step.parameters, newest_rows(tape, output, 1));
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
    words += std::ssize(schedule_of(here, config_.n_head, rows, shape.memory_rows)->words());
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

SegmentShape full_segment(const ModelConfig& model, const ModelUse& use, int64_t streams, int64_t tgt_len,
                          int64_t scored) {
  SegmentShape shape{.streams = streams,
                     .tgt_len = tgt_len,
                     .memory_rows = use.memory_rows(),
                     .scored = scored,
                     .remembered = remembered_in_training(model),
                     .mem_len = use.memory_tokens > 0 || hands_on_states(model) ? use.mem_len : 0};
  shape.compressed = use.compressed_len;
  if (use.compressed_len > 0) shape.pushed_out = use.pushed_out(use.uncompressed_rows(), tgt_len);
  return shape;
}

}  // namespace segue
