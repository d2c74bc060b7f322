// Groups of lanes, one after another.
#include "core/evaluation/evaluator.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace segue {

namespace {

Share my_lanes(const Communicator& communicator, int64_t lanes) {
  if (lanes < communicator.size()) {
    throw ConfigError("evaluation: expected a batch of at least {} streams, one for each rank, found {}",
                      communicator.size(), lanes);
  }
  return share_of(lanes, communicator.size(), communicator.rank());
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// The ranks' lanes one after another, as they were before they were shared out.
std::vector<float> join(const std::vector<std::string>& parts) {
  std::vector<float> whole;
  for (const std::string& part : parts) {
    const size_t begin = whole.size();
    whole.resize(begin + part.size() / sizeof(float));
    std::memcpy(whole.data() + begin, part.data(), part.size());
  }
  return whole;
}

}  // namespace

struct Evaluator::Run {
  const EvaluationPlan& plan;
  const Sink& sink;
  Share mine;
  LaneReader reader;
  SegmentMemory memory;
  EvaluationResult result = {};
};

// Rows [row, row + length) of a group's lanes.
struct Evaluator::Part {
  std::span<const Lane> lanes;
  int64_t row;
  int64_t length;

  // The rows of a lane that are scored here, counted from the part's beginning; none: [0, 0).
  std::pair<int64_t, int64_t> scored(const Lane& lane) const {
    const int64_t begin = std::max(lane.scored - lane.begin - row, int64_t{0});
    const int64_t end = std::min(lane.rows() - row, length);
    return begin < end ? std::pair{begin, end} : std::pair{int64_t{0}, int64_t{0}};
  }
  int64_t count() const {
    return std::accumulate(lanes.begin(), lanes.end(), int64_t{0}, [this](int64_t sum, const Lane& lane) {
      const auto [begin, end] = scored(lane);
      return sum + end - begin;
    });
  }
};

Evaluator::Evaluator(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
                     Communicator& communicator)
    : model_(model),
      compute_(parameters.compute()),
      engine_(model, parameters, arena, stream, Tape::Mode::kEvaluation),
      communicator_(communicator) {}

void Evaluator::prepare(const EvaluationPlan& plan) {
  engine_.prepare({.streams = my_lanes(communicator_, plan.lanes()).count,
                   .tgt_len = plan.tgt_len(),
                   .memory_length = model_.config().mem_len});
}

EvaluationResult Evaluator::run(TokenSource source, const EvaluationPlan& plan, const Sink& sink,
                                const Told& progress) {
  const Share mine = my_lanes(communicator_, plan.lanes());
  if (plan.scored_rows() == 0)
    throw DataError("{}: expected at least {} tokens for {} streams of 2, found {}", source.name(), 2 * plan.lanes(),
                    plan.lanes(), source.tokens());
  Run run{.plan = plan,
          .sink = sink,
          .mine = mine,
          .reader = LaneReader(std::move(source), mine.count, plan.tgt_len()),
          .memory = model_.make_memory(mine.count, compute_)};
  for (int64_t group = 0; group < plan.groups(); ++group) run_group(run, group, progress);
  communicator_.sum({&run.result.total_nll, 1});
  return run.result;
}

void Evaluator::run_group(Run& run, int64_t index, const Told& progress) {
  const std::vector<Lane> lanes = run.plan.group(index);
  const int64_t rows = std::max_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
                         return a.rows() < b.rows();
                       })->rows();
  run.reader.enter(std::span(lanes).subspan(static_cast<size_t>(run.mine.first), static_cast<size_t>(run.mine.count)));
  run.memory.reset();
  for (int64_t row = 0; row < rows; row += run.plan.tgt_len()) {
    run_part(run, {.lanes = lanes, .row = row, .length = std::min(run.plan.tgt_len(), rows - row)});
    if (progress) progress(run.result.tokens);
  }
}

void Evaluator::run_part(Run& run, const Part& part) {
  const auto [tokens, targets] = run.reader.read(part.row, part.length);
  const std::span<const float> nll = engine_.run({.tokens = tokens, .targets = targets, .info = {}}, run.memory);
  for (int64_t i = 0; i < run.mine.count; ++i) {
    const auto [begin, end] = part.scored(part.lanes[static_cast<size_t>(run.mine.first + i)]);
    const auto row = nll.begin() + i * part.length;
    run.result.total_nll = std::accumulate(row + begin, row + end, run.result.total_nll);
  }
  run.result.tokens += part.count();
  if (run.sink) hand_over(part, nll, run.sink);
}

void Evaluator::hand_over(const Part& part, std::span<const float> nll, const Sink& sink) {
  std::vector<float> joined;
  if (communicator_.size() > 1) {
    joined = join(communicator_.gather(bytes_of(nll)));
    if (!communicator_.is_first()) return;
    nll = joined;
  }
  for (size_t i = 0; i < part.lanes.size(); ++i) {
    const auto [begin, end] = part.scored(part.lanes[i]);
    if (begin == end) continue;
    const auto first = static_cast<size_t>(static_cast<int64_t>(i) * part.length + begin);
    sink({.place = part.lanes[i].begin + part.row + begin + 1,
          .position = begin,
          .before = part.row,
          .nll = nll.subspan(first, static_cast<size_t>(end - begin))});
  }
}

}  // namespace segue
