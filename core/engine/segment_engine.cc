// Look up or record the tape, bring the segment, replay, update the memory.
#include "core/engine/segment_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace segue {

namespace {

constexpr int kWarmUpRuns = 2;  // before a replay becomes a graph: until then cuBLASLt may still choose algorithms

// Of one shape: groups of streams and memories in turns have some; a scale of the loss that follows how many targets
// are scored has as many as there are steps.
constexpr size_t kMostReplays = 64;

// Compares what a graph holds as constants. The step is not among them: it lies in the GPU's memory.
bool equal_constants(const ReplayInfo& a, const ReplayInfo& b) {
  return a.seed == b.seed && a.first_stream == b.first_stream && a.loss_scale == b.loss_scale &&
         a.stream_share == b.stream_share && a.first_position == b.first_position && a.head_windows == b.head_windows;
}

}  // namespace

std::string UseBytes::text(Device device, std::string_view memory_name) const {
  return fmt::format("memory {} on {}: weights {}, {} {}, activations {}", human_bytes(total()), name_of(device),
                     human_bytes(weights), memory_name, human_bytes(memory), human_bytes(activations));
}

SegmentEngine::SegmentEngine(ModelInUse in_use, Tape::Mode mode)
    : in_use_(std::move(in_use)), mode_(mode), learned_spans_(in_use_.model.config(), in_use_.parameters) {}

SegmentEngine::Recorded& SegmentEngine::recorded_for(SegmentShape shape) {
  shape.scored = shape.scored_tokens();
  const auto found = std::find_if(tapes_.begin(), tapes_.end(), [&](const Recorded& r) { return r.shape == shape; });
  if (found != tapes_.end()) return *found;
  Recorded fresh{.shape = shape,
                 .segment = in_use_.model.record(in_use_.arena, mode_, in_use_.parameters, in_use_.use, shape),
                 .staging = {},
                 .replays = {}};
  if (in_use_.queue.device().is_cuda()) {
    const bool has_targets = fresh.segment->targets.exists();
    const Shape tokens{shape.streams, shape.tgt_len};
    fresh.staging.emplace(
        SegmentStaging::Shapes{.tokens = tokens,
                               .targets = {has_targets ? shape.streams : 0, shape.scored},
                               .reach = {shape.documents ? shape.streams : 0, shape.tgt_len},
                               .ahead = {shape.bounded_ahead ? shape.streams : 0, in_use_.use.rows_of(shape.tgt_len)}},
        in_use_.queue.device());
    Tape& tape = fresh.segment->tape;
    tape.bind(fresh.segment->tokens, fresh.staging->tokens());
    if (has_targets) tape.bind(fresh.segment->targets, fresh.staging->targets());
    if (shape.documents) tape.bind(fresh.segment->reach, fresh.staging->reach());
    if (shape.bounded_ahead) tape.bind(fresh.segment->ahead, fresh.staging->ahead());
    tape.read_step_from(fresh.staging->step());
  }
  tapes_.push_back(std::move(fresh));
  return tapes_.back();
}

int64_t SegmentEngine::prepare(const SegmentShape& shape) {
  const int64_t bytes = recorded_for(shape).segment->tape.planned_bytes();
  in_use_.arena.reserve(bytes);
  return bytes;
}

UseBytes SegmentEngine::prepare(const SegmentShape& full, const Memory& memory) {
  SegmentShape shape = full;
  memory.fit(shape);
  prepare(shape.memory_rows < full.memory_rows ? full : shape);  // some memories grow until they are full
  Parameters& parameters = in_use_.parameters;
  return {.weights = parameters.values().bytes() + parameters.compute_copy().bytes(),
          .memory = memory.bytes(),
          .activations = in_use_.arena.bytes()};
}

void SegmentEngine::bring(Recorded& recorded, const SegmentInputs& inputs) {
  Tape& tape = recorded.segment->tape;
  tape.info() = inputs.info;
  learned_spans_.read(in_use_.queue, tape.info().head_windows);
  if (recorded.staging) return recorded.staging->load(in_use_.queue, inputs, in_use_.model.vocab_size());
  tape.bind(recorded.segment->tokens, inputs.tokens);
  if (recorded.segment->targets.exists()) tape.bind(recorded.segment->targets, inputs.targets);
  if (recorded.shape.documents) tape.bind(recorded.segment->reach, inputs.reach);
  if (recorded.shape.bounded_ahead) tape.bind(recorded.segment->ahead, inputs.ahead);
}

SegmentEngine::Recorded& SegmentEngine::ready(SegmentShape shape, const SegmentInputs& inputs, const Memory& memory) {
  shape.streams = inputs.tokens.shape[0];
  shape.tgt_len = inputs.tokens.shape[1];
  memory.fit(shape);
  Recorded& recorded = recorded_for(shape);
  in_use_.arena.reserve(recorded.segment->tape.planned_bytes());
  bring(recorded, inputs);
  return recorded;
}

TokenLosses SegmentEngine::queue(const SegmentInputs& inputs, Memory& memory, const Tape::GradientProgress& progress) {
  const SegmentShape shape{.segment_length = inputs.segment_length,
                           .scored = inputs.targets.shape[1],
                           .margins = inputs.margins,
                           .documents = !inputs.reach.empty(),
                           .bounded_ahead = !inputs.ahead.empty(),
                           .attention = inputs.attention,
                           .window_share = inputs.window_share,
                           .recompute = inputs.recompute};
  Recorded& recorded = ready(shape, inputs, memory);
  replay(recorded, memory, progress);
  const SegmentTape& segment = *recorded.segment;
  const auto read = [&](Slot slot) { return slot.exists() ? segment.tape.read(slot) : ConstTensorView(); };
  TokenLosses losses{.nll = segment.tape.read(segment.nll),
                     .margin = read(segment.margin),
                     .reconstruction = read(segment.reconstruction)};
  for (const Slot slot : segment.attention) losses.attention.push_back(segment.tape.read(slot));
  recorded.passes.clear();
  for (const Slot slot : segment.passes) recorded.passes.push_back(segment.tape.read(slot));
  losses.passes = recorded.passes;
  return losses;
}

std::span<const OwnedTensor> SegmentEngine::predict(ConstTensorView tokens, Memory& memory) {
  const SegmentInputs inputs{.tokens = tokens, .targets = tokens.rows(0, 0), .info = {}};
  Recorded& recorded = ready({.output = SegmentOutput::kNextToken}, inputs, memory);
  replay(recorded, memory, nullptr);
  in_use_.queue.synchronize();
  logits_.clear();
  for (const Slot slot : recorded.segment->logits) {
    const OwnedTensor logits = host_copy(recorded.segment->tape.read(slot), in_use_.queue.device());
    logits_.push_back(converted_copy(logits.view(), DType::kFloat32, {}));
  }
  return logits_;
}

HostLosses SegmentEngine::run(const SegmentInputs& inputs, Memory& memory) {
  TokenLosses losses = queue(inputs, memory);
  ConstTensorView nll = losses.nll;
  ConstTensorView margin = losses.margin;
  if (in_use_.queue.device().is_cuda()) {
    in_use_.queue.synchronize();
    losses_ = {host_copy(nll, in_use_.queue.device()), OwnedTensor()};
    nll = losses_[0].view();
    if (!margin.empty()) {
      losses_[1] = host_copy(margin, in_use_.queue.device());
      margin = losses_[1].view();
    }
    attention_.clear();
    for (ConstTensorView& received : losses.attention) {
      attention_.push_back(host_copy(received, in_use_.queue.device()));
      received = attention_.back().view();
    }
  }
  const auto floats = [](ConstTensorView view) {
    return view.empty() ? std::span<const float>() : std::span(view.as<float>(), static_cast<size_t>(view.elements()));
  };
  return {.nll = floats(nll), .margin = floats(margin), .attention = std::move(losses.attention)};
}

// Only with a full memory do all addresses stay the same from run to run. What is observed is queued part by part.
void SegmentEngine::replay(Recorded& recorded, Memory& memory, const Tape::GradientProgress& progress) {
  memory.bind(*recorded.segment);
  const bool becomes_graph =
      in_use_.queue.device().is_cuda() && mode_ == Tape::Mode::kTraining && memory.is_settled() && observer_ == nullptr;
  Replay* const replay = becomes_graph ? replay_for(recorded, progress != nullptr) : nullptr;
  if (replay == nullptr || replay->runs++ < kWarmUpRuns) {
    run_operations(*recorded.segment, memory, progress);
  } else {
    if (!replay->graph.is_recorded())
      replay->graph.record(in_use_.queue.cuda(), [&] { run_operations(*recorded.segment, memory, progress); });
    replay->graph.launch(in_use_.queue.cuda());
  }
  memory.advance(*recorded.segment);
}

SegmentEngine::Replay* SegmentEngine::replay_for(Recorded& recorded, bool tells_progress) {
  const Tape& tape = recorded.segment->tape;
  std::vector<const std::byte*> addresses = tape.bound_addresses();
  addresses.push_back(in_use_.arena.data());
  const ReplayInfo& info = tape.info();
  // Spans that have moved on to another tile do not come back soon.
  std::erase_if(recorded.replays, [&](const Replay& replay) { return replay.info.head_windows != info.head_windows; });
  const auto found = std::find_if(recorded.replays.begin(), recorded.replays.end(), [&](const Replay& replay) {
    return replay.addresses == addresses && equal_constants(replay.info, info) &&
           replay.tells_progress == tells_progress;
  });
  if (found != recorded.replays.end()) return &*found;
  if (recorded.replays.size() == kMostReplays) return nullptr;
  recorded.replays.push_back(
      {.addresses = std::move(addresses), .info = info, .tells_progress = tells_progress, .runs = 0, .graph = {}});
  return &recorded.replays.back();
}

int64_t SegmentEngine::graphs() const {
  int64_t count = 0;
  for (const Recorded& recorded : tapes_) {
    count += std::count_if(recorded.replays.begin(), recorded.replays.end(),
                           [](const Replay& replay) { return replay.graph.is_recorded(); });
  }
  return count;
}

void SegmentEngine::run_operations(SegmentTape& segment, Memory& memory, const Tape::GradientProgress& progress) {
  segment.tape.observe(observer_);
  segment.tape.forward(in_use_.queue);
  if (segment.tape.training()) segment.tape.backward(in_use_.queue, progress);
  const auto describe = [&] {
    return StepPart{.name = "memory_update", .pass = "", .bytes = 2.0 * segment.tape.touched_bytes(segment.fresh)};
  };
  observed(observer_, describe, [&] { memory.update(in_use_.queue, segment); });
}

}  // namespace segue
