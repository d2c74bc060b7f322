// Look up or record the tape, bring the segment, replay, update the memory.
#include "core/model/segment_engine.h"

#include <algorithm>

namespace segue {

namespace {

constexpr int kWarmUpRuns = 2;  // before a replay becomes a graph: until then cuBLASLt may still choose algorithms

// What a graph holds as constants. The step is none of it: it lies in the GPU's memory.
bool equal_constants(const ReplayInfo& a, const ReplayInfo& b) {
  return a.seed == b.seed && a.first_stream == b.first_stream && a.loss_scale == b.loss_scale;
}

}  // namespace

SegmentEngine::SegmentEngine(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
                             Tape::Mode mode)
    : model_(model), parameters_(parameters), arena_(arena), stream_(stream), mode_(mode) {}

SegmentEngine::Recorded& SegmentEngine::recorded_for(SegmentShape shape) {
  shape.scored = shape.scored_tokens();
  const auto found = std::find_if(tapes_.begin(), tapes_.end(), [&](const Recorded& r) { return r.shape == shape; });
  if (found != tapes_.end()) return *found;
  Recorded fresh{
      .shape = shape, .segment = model_.record(arena_, mode_, parameters_, shape), .staging = {}, .replays = {}};
  if (stream_.device().is_cuda()) {
    fresh.staging.emplace(Shape{shape.streams, shape.tgt_len}, Shape{shape.streams, shape.scored}, stream_.device());
    Tape& tape = fresh.segment->tape;
    tape.bind(fresh.segment->tokens, fresh.staging->tokens());
    tape.bind(fresh.segment->targets, fresh.staging->targets());
    tape.read_step_from(fresh.staging->step());
  }
  tapes_.push_back(std::move(fresh));
  return tapes_.back();
}

int64_t SegmentEngine::prepare(const SegmentShape& shape) {
  const int64_t bytes = recorded_for(shape).segment->tape.planned_bytes();
  arena_.reserve(bytes);
  return bytes;
}

void SegmentEngine::bring(Recorded& recorded, const SegmentInputs& inputs) {
  Tape& tape = recorded.segment->tape;
  tape.info() = inputs.info;
  if (recorded.staging) return recorded.staging->load(stream_, inputs, model_.vocab_size());
  tape.bind(recorded.segment->tokens, inputs.tokens);
  tape.bind(recorded.segment->targets, inputs.targets);
}

ConstTensorView SegmentEngine::queue(const SegmentInputs& inputs, SegmentMemory& memory,
                                     const Tape::GradientProgress& progress) {
  Recorded& recorded = recorded_for({.streams = inputs.tokens.shape[0],
                                     .tgt_len = inputs.tokens.shape[1],
                                     .memory_length = memory.length(),
                                     .scored = inputs.targets.shape[1]});
  arena_.reserve(recorded.segment->tape.planned_bytes());
  bring(recorded, inputs);
  replay(recorded, memory, progress);
  return recorded.segment->tape.read(recorded.segment->nll);
}

std::span<const float> SegmentEngine::run(const SegmentInputs& inputs, SegmentMemory& memory) {
  ConstTensorView nll = queue(inputs, memory);
  if (stream_.device().is_cuda()) {
    stream_.synchronize();
    losses_ = host_copy(nll, stream_.device());
    nll = losses_.view();
  }
  return {nll.as<float>(), static_cast<size_t>(nll.elements())};
}

// Only with a full memory do all addresses stay the same from run to run.
void SegmentEngine::replay(Recorded& recorded, SegmentMemory& memory, const Tape::GradientProgress& progress) {
  const bool becomes_graph = stream_.device().is_cuda() && mode_ == Tape::Mode::kTraining && memory.is_full();
  if (!becomes_graph) return run_operations(*recorded.segment, memory, progress);
  Replay& replay = replay_for(recorded, memory, progress != nullptr);
  if (replay.runs++ < kWarmUpRuns) return run_operations(*recorded.segment, memory, progress);
  if (!replay.graph.is_recorded())
    replay.graph.record(stream_.cuda(), [&] { run_operations(*recorded.segment, memory, progress); });
  replay.graph.launch(stream_.cuda());
}

SegmentEngine::Replay& SegmentEngine::replay_for(Recorded& recorded, const SegmentMemory& memory, bool tells_progress) {
  std::vector<const std::byte*> addresses{arena_.data()};
  for (int64_t l = 0; l < memory.layers(); ++l) addresses.push_back(memory.layer(l).data);
  const ReplayInfo& info = recorded.segment->tape.info();
  const auto found = std::find_if(recorded.replays.begin(), recorded.replays.end(), [&](const Replay& replay) {
    return replay.addresses == addresses && equal_constants(replay.info, info) &&
           replay.tells_progress == tells_progress;
  });
  if (found != recorded.replays.end()) return *found;
  recorded.replays.push_back(
      {.addresses = std::move(addresses), .info = info, .tells_progress = tells_progress, .runs = 0, .graph = {}});
  return recorded.replays.back();
}

int64_t SegmentEngine::graphs() const {
  int64_t count = 0;
  for (const Recorded& recorded : tapes_) {
    count += std::count_if(recorded.replays.begin(), recorded.replays.end(),
                           [](const Replay& replay) { return replay.graph.is_recorded(); });
  }
  return count;
}

void SegmentEngine::run_operations(SegmentTape& segment, SegmentMemory& memory,
                                   const Tape::GradientProgress& progress) {
  Tape& tape = segment.tape;
  for (size_t l = 0; l < segment.memories.size(); ++l)
    tape.bind(segment.memories[l], memory.layer(static_cast<int64_t>(l)));
  tape.forward(stream_);
  if (tape.training()) tape.backward(stream_, progress);
  hidden_.clear();
  for (const Slot slot : segment.hidden) hidden_.push_back(tape.read(slot));
  memory.update(stream_, hidden_);
}

}  // namespace segue
