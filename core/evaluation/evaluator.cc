// Groups of lanes, one after another.
#include "core/evaluation/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/activity.h"
#include "core/memory/memory.h"
#include "distributed/share.h"

namespace segue {

namespace {

Share my_lanes(const Job& job, int64_t lanes) { return share_of(lanes, job.size(), job.rank()); }

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
  Listeners listeners;
  Share mine;
  std::optional<LaneReader> reader = {};  // where there are lanes
  std::unique_ptr<Memory> memory = {};
  EvaluationResult result = {};
};

// Rows [row, row + length) of a group's lanes.
struct Evaluator::Part {
  std::span<const Lane> lanes;
  int64_t row;
  int64_t length;

  // The rows of a lane that are scored here, counted from the part's beginning.
  Share scored(const Lane& lane) const {
    const int64_t begin = std::max(lane.scored - lane.begin - row, int64_t{0});
    const int64_t end = std::min(lane.rows() - row, length);
    return {.first = begin, .count = std::max(end - begin, int64_t{0})};
  }
  int64_t tokens() const {
    const auto add = [this](int64_t sum, const Lane& lane) { return sum + scored(lane).count; };
    return std::accumulate(lanes.begin(), lanes.end(), int64_t{0}, add);
  }
  // How many of the newest rows it takes to have all that are scored in some lane; at least one, as a tape has a loss.
  int64_t newest() const {
    int64_t first = length - 1;
    for (const Lane& lane : lanes)
      if (scored(lane).count > 0) first = std::min(first, scored(lane).first);
    return length - first;
  }
};

Evaluator::Evaluator(const ModelInUse& in_use, Job& job, Remembered remembered)
    : in_use_(in_use), remembered_(remembered), engine_(in_use, Tape::Mode::kEvaluation), job_(job) {}

void Evaluator::prepare(const EvaluationPlan& plan) {
  const int64_t lanes = my_lanes(job_, plan.lanes()).count;
  if (lanes == 0) return;
  engine_.prepare({.streams = lanes, .tgt_len = plan.tgt_len(), .memory_length = in_use_.use.mem_len});
}

EvaluationResult Evaluator::run(TokenSource source, const EvaluationPlan& plan, const Sink& sink,
                                const Told& progress) {
  return *run_until({.sink = sink, .progress = progress, .stop = nullptr}, std::move(source), plan);
}

std::optional<EvaluationResult> Evaluator::run_unless(const Asked& stop, TokenSource source,
                                                      const EvaluationPlan& plan) {
  return run_until({.sink = nullptr, .progress = nullptr, .stop = stop}, std::move(source), plan);
}

std::optional<EvaluationResult> Evaluator::run_until(const Listeners& listeners, TokenSource source,
                                                     const EvaluationPlan& plan) {
  if (plan.scored_rows() == 0)
    throw DataError("{}: expected at least {} tokens for {} streams of 2, found {}", source.name(), 2 * plan.lanes(),
                    plan.lanes(), source.tokens());
  const LongWork evaluating(job_, "evaluating");  // some ranks have more lanes than others
  Run run{.plan = plan, .listeners = listeners, .mine = my_lanes(job_, plan.lanes())};
  if (run.mine.count > 0) {
    run.reader.emplace(std::move(source), run.mine.count, plan.tgt_len());
    run.memory = make_evaluation_memory(remembered_, in_use_, run.mine.count, plan.tgt_len());
  }
  for (int64_t group = 0; group < plan.groups(); ++group) {
    if (!run_group(run, group)) return std::nullopt;
  }
  job_.sum({&run.result.total_nll, 1});
  return run.result;
}

// All ranks stop before the same part.
bool Evaluator::is_stopped(const Asked& stop) {
  if (!stop) return false;
  double asked = stop() ? 1.0 : 0.0;
  job_.sum({&asked, 1});
  return asked > 0.0;
}

bool Evaluator::run_group(Run& run, int64_t index) {
  const std::vector<Lane> lanes = run.plan.group(index);
  const int64_t rows = std::max_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
                         return a.rows() < b.rows();
                       })->rows();
  if (run.reader) {
    run.reader->enter(
        std::span(lanes).subspan(static_cast<size_t>(run.mine.first), static_cast<size_t>(run.mine.count)));
    run.memory->reset();
  }
  for (int64_t row = 0; row < rows; row += run.plan.tgt_len()) {
    if (is_stopped(run.listeners.stop)) return false;
    run_part(run, {.lanes = lanes, .row = row, .length = std::min(run.plan.tgt_len(), rows - row)});
    note_progress();
    if (run.listeners.progress) run.listeners.progress(run.result.tokens);
  }
  return true;
}

void Evaluator::run_part(Run& run, const Part& part) {
  const std::span<const float> nll = run.reader ? losses_of(run, part) : std::span<const float>();
  run.result.tokens += part.tokens();
  if (run.listeners.sink) hand_over(part, nll, run.listeners.sink);
}

std::span<const float> Evaluator::losses_of(Run& run, const Part& part) {
  const int64_t newest = part.newest();
  const auto [tokens, targets] = run.reader->read(part.row, part.length, newest);
  const std::span<const float> nll = engine_.run({.tokens = tokens, .targets = targets, .info = {}}, *run.memory);
  for (int64_t i = 0; i < run.mine.count; ++i) {
    const Share scored = part.scored(part.lanes[static_cast<size_t>(run.mine.first + i)]);
    if (scored.count == 0) continue;
    const auto first = nll.begin() + i * newest + scored.first - (part.length - newest);
    const auto broken = std::find_if(first, first + scored.count, [](float loss) { return !std::isfinite(loss); });
    if (broken != first + scored.count) {
      throw DivergedError(
          "the loss of token {} of the split is {}",
          part.lanes[static_cast<size_t>(run.mine.first + i)].begin + part.row + scored.first + (broken - first) + 1,
          *broken);
    }
    run.result.total_nll = std::accumulate(first, first + scored.count, run.result.total_nll);
  }
  return nll;
}

void Evaluator::hand_over(const Part& part, std::span<const float> nll, const Sink& sink) {
  std::vector<float> joined;
  if (job_.size() > 1) {
    joined = join(job_.gather(bytes_of(nll)));
    if (!job_.is_first()) return;
    nll = joined;
  }
  const int64_t newest = std::ssize(nll) / std::ssize(part.lanes);
  for (int64_t i = 0; i < std::ssize(part.lanes); ++i) {
    const Lane& lane = part.lanes[static_cast<size_t>(i)];
    const Share scored = part.scored(lane);
    if (scored.count == 0) continue;
    const int64_t first = i * newest + scored.first - (part.length - newest);
    sink({.offset = lane.begin + part.row + scored.first + 1,
          .position = scored.first,
          .before = part.row,
          .nll = nll.subspan(static_cast<size_t>(first), static_cast<size_t>(scored.count))});
  }
}

}  // namespace segue
