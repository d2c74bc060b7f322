#include "core/evaluation/evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/process_status.h"
#include "base/text.h"
#include "core/memory/memory.h"
#include "distributed/share.h"

namespace segue {

namespace {

Share my_lanes(const Job& job, int64_t lanes) { return share_of(lanes, job.size(), job.rank()); }

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Marks what is not scored among losses.
constexpr float kUnscored = std::numeric_limits<float>::quiet_NaN();

// The ranks' lanes one after another, as they were before they were shared out; empty in ranks but the first.
template <typename T>
std::vector<T> gather(Job& job, std::span<const T> values) {
  std::vector<T> whole;
  for (const std::string& part : job.gather(bytes_of(values))) {
    const size_t begin = whole.size();
    whole.resize(begin + part.size() / sizeof(T));
    std::memcpy(whole.data() + begin, part.data(), part.size());
  }
  return whole;
}

}  // namespace

struct Evaluator::Run {
  const EvaluationPlan& plan;
  std::string name;  // of the split, for messages
  Listeners listeners;
  Share mine;
  std::optional<EvaluationBatchReader> reader = {};  // where there are lanes
  std::unique_ptr<Memory> memory = {};
  EvaluationResult result = {};
  int64_t unknown_token = -1;           // -1: none
  int64_t rows = 0;                     // that the plan scored so far, of all ranks
  bool scores_some = false;             // of what the plan scores, as of marked data
  std::vector<float> nll = {};          // of a part where not all is scored
  std::span<const int32_t> bytes = {};  // of a part's targets in this rank's lanes, where they are known
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

Evaluator::Evaluator(const ModelInUse& in_use, Job& job, EvaluationMemory memory, bool tells_attention)
    : in_use_(in_use),
      memory_(memory),
      tells_attention_(tells_attention),
      engine_(in_use, Tape::Mode::kEvaluation),
      job_(job),
      masking_(evaluation_masking(in_use.model)) {
  if (tells_attention && memory == EvaluationMemory::kKvCache)
    throw ContractError("a KV cache cannot tell the attention that its rows receive");
}

void Evaluator::prepare(const EvaluationPlan& plan, const SplitInfo& split) {
  const int64_t lanes = my_lanes(job_, plan.lanes()).count;
  if (lanes == 0) return;
  engine_.prepare(largest_segment(plan, lanes, split.marks.has_value()));
}

SegmentShape Evaluator::largest_segment(const EvaluationPlan& plan, int64_t lanes, bool has_marks) const {
  SegmentShape shape = full_segment(in_use_.model.config(), in_use_.use, lanes, plan.tgt_len(), plan.tgt_len());
  shape.margins = has_marks || masking_;
  shape.bounded_ahead = masking_.has_value();
  shape.attention = tells_attention_;
  return shape;
}

EvaluationResult Evaluator::run(TokenSource source, const EvaluationPlan& plan, const Sink& sink, const Told& progress,
                                const Ready& ready) {
  return *run_until({.sink = sink, .progress = progress, .ready = ready, .stop = nullptr}, std::move(source), plan);
}

std::optional<EvaluationResult> Evaluator::run_unless(const Asked& stop, TokenSource source,
                                                      const EvaluationPlan& plan) {
  return run_until({.sink = nullptr, .progress = nullptr, .ready = nullptr, .stop = stop}, std::move(source), plan);
}

std::optional<EvaluationResult> Evaluator::run_until(const Listeners& listeners, TokenSource source,
                                                     const EvaluationPlan& plan) {
  if (plan.scored_rows() == 0)
    throw DataError(
        "{}: expected at least {} tokens for {} {} of 2, found {}; lower the batch size, or prepare more text",
        source.name(), 2 * plan.lanes(), plan.lanes(), plural(plan.lanes(), "stream"), source.tokens());
  const LongWork evaluating(job_, "evaluating");  // some ranks have more lanes than others
  const std::string name = source.name();
  if (masking_ && source.has_marks())
    throw DataError("{}: a masked model chooses itself what it predicts; expected data without marks, found some",
                    name);
  Run run{.plan = plan,
          .name = name,
          .listeners = listeners,
          .mine = my_lanes(job_, plan.lanes()),
          .unknown_token = source.unknown_token(),
          .scores_some = source.has_marks() || masking_};
  if (source.has_bytes() && !masking_) run.result.bytes = 0;  // a masked model's losses are no length of a code
  if (run.unknown_token >= 0) run.result.unknown = 0;
  if (tells_attention_) run.result.attention.emplace(in_use_.model.config().n_layer, in_use_.use.memory_rows());
  UseBytes bytes;
  if (run.mine.count > 0) {
    run.memory = make_evaluation_memory(memory_, in_use_, run.mine.count, plan.tgt_len());
    if (listeners.ready) {
      bytes = engine_.prepare(largest_segment(plan, run.mine.count, source.has_marks()), *run.memory);
    }
    run.reader.emplace(std::move(source), run.mine.count, plan.tgt_len(), masking_, in_use_.use.global_tokens);
  }
  if (listeners.ready) listeners.ready(bytes);
  for (int64_t group = 0; group < plan.groups(); ++group) {
    if (!run_group(run, group)) return std::nullopt;
  }
  EvaluationResult& result = run.result;
  std::array<double, 6> sums{result.total_nll,
                             static_cast<double>(result.tokens),
                             static_cast<double>(result.hits.value_or(0)),
                             result.hits ? 1.0 : 0.0,
                             static_cast<double>(result.bytes.value_or(0)),
                             static_cast<double>(result.unknown.value_or(0))};
  job_.sum(sums);
  if (result.bytes) result.bytes = std::llround(sums[4]);
  if (result.unknown) result.unknown = std::llround(sums[5]);
  if (result.attention) result.attention->sum(job_);
  result.total_nll = sums[0];
  if (!run.scores_some) {
    result.tokens = run.rows;
    result.hits.reset();
    return result;
  }
  result.tokens = std::llround(sums[1]);
  if (result.tokens == 0) throw DataError("{}: expected a scored target among those evaluated, found none", name);
  if (sums[3] > 0.0) result.hits = std::llround(sums[2]);
  return result;
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
    if (run.listeners.progress) run.listeners.progress(run.rows);
  }
  return true;
}

void Evaluator::run_part(Run& run, const Part& part) {
  const HostLosses losses = run.reader ? losses_of(run, part) : HostLosses();
  run.rows += part.tokens();
  if (run.listeners.sink) hand_over(part, losses, run.bytes, run.listeners.sink);
}

HostLosses Evaluator::losses_of(Run& run, const Part& part) {
  const int64_t newest = part.newest();
  const EvaluationBatchReader::Rows rows = run.reader->read(part.row, part.length, newest);
  HostLosses losses = engine_.run({.tokens = rows.tokens,
                                   .targets = rows.targets,
                                   .info = {},
                                   .ahead = rows.ahead,
                                   .margins = run.scores_some,
                                   .attention = tells_attention_},
                                  *run.memory);
  if (!losses.attention.empty()) add_attention(run, part, losses.attention);
  const std::span<const float> nll = losses.nll;
  const auto* const targets = rows.targets.as<int32_t>();
  if (run.result.bytes) run.bytes = {rows.bytes.as<int32_t>(), static_cast<size_t>(rows.bytes.elements())};
  for (int64_t i = 0; i < run.mine.count; ++i) {
    const Share scored = part.scored(part.lanes[static_cast<size_t>(run.mine.first + i)]);
    if (scored.count == 0) continue;
    const auto first = nll.begin() + i * newest + scored.first - (part.length - newest);
    const auto broken = std::find_if(first, first + scored.count, [](float loss) { return !std::isfinite(loss); });
    if (broken != first + scored.count) {
      throw DivergedError(
          "{}: the loss of token {} is {}", run.name,
          part.lanes[static_cast<size_t>(run.mine.first + i)].begin + part.row + scored.first + (broken - first) + 1,
          non_finite(*broken));
    }
    run.result.total_nll = std::accumulate(first, first + scored.count, run.result.total_nll);
    const int64_t place = first - nll.begin();
    const int32_t* const target = targets + place;
    for (int64_t row = 0; row < scored.count && !run.bytes.empty(); ++row)
      if (target[row] != kUnscoredTarget) *run.result.bytes += run.bytes[static_cast<size_t>(place + row)];
    if (run.result.unknown) *run.result.unknown += std::count(target, target + scored.count, run.unknown_token);
    if (!run.scores_some) continue;
    run.result.tokens += scored.count - std::count(target, target + scored.count, kUnscoredTarget);
    if (losses.margin.empty()) continue;
    const auto margin = losses.margin.begin() + place;
    run.result.hits = run.result.hits.value_or(0) +
                      std::count_if(margin, margin + scored.count, [](float value) { return value > 0.0F; });
  }
  if (run.scores_some) {
    run.nll.assign(nll.begin(), nll.end());
    for (size_t i = 0; i < run.nll.size(); ++i)
      if (targets[i] == kUnscoredTarget) run.nll[i] = kUnscored;
    losses.nll = run.nll;
  }
  return losses;
}

// Of the lanes whose segment is whole and scored as a whole, if the memory was full.
void Evaluator::add_attention(Run& run, const Part& part, std::span<const ConstTensorView> received) {
  const ModelUse& use = in_use_.use;
  if (part.length < run.plan.tgt_len() || received.front().shape[2] < use.compressed_len + use.mem_len) return;
  for (int64_t i = 0; i < run.mine.count; ++i) {
    const Share scored = part.scored(part.lanes[static_cast<size_t>(run.mine.first + i)]);
    if (scored.count == part.length) run.result.attention->add(received, i, use.rows_of(part.length));
  }
}

void Evaluator::hand_over(const Part& part, const HostLosses& losses, std::span<const int32_t> bytes,
                          const Sink& sink) {
  HostLosses all = losses;
  std::array<std::vector<float>, 2> joined;
  std::vector<int32_t> joined_bytes;
  if (job_.size() > 1) {
    joined = {gather(job_, losses.nll), gather(job_, losses.margin)};
    joined_bytes = gather(job_, bytes);
    if (!job_.is_first()) return;
    all = {.nll = joined[0], .margin = joined[1]};
    bytes = joined_bytes;
  }
  const int64_t newest = std::ssize(all.nll) / std::ssize(part.lanes);
  for (int64_t i = 0; i < std::ssize(part.lanes); ++i) {
    const Lane& lane = part.lanes[static_cast<size_t>(i)];
    const Share scored = part.scored(lane);
    const int64_t before = i * newest - (part.length - newest);
    // Whatever lies between two tokens that are not scored.
    for (int64_t begin = scored.first, end = 0; begin < scored.first + scored.count; begin = end) {
      const auto is_scored = [&](int64_t row) { return !std::isnan(all.nll[static_cast<size_t>(before + row)]); };
      for (end = begin + 1; end < scored.first + scored.count && is_scored(end) == is_scored(begin);) ++end;
      if (!is_scored(begin)) continue;
      const auto first = static_cast<size_t>(before + begin);
      const auto count = static_cast<size_t>(end - begin);
      sink({.offset = lane.begin + part.row + begin + 1,
            .position = begin,
            .before = part.row,
            .nll = all.nll.subspan(first, count),
            .margin = all.margin.empty() ? all.margin : all.margin.subspan(first, count),
            .bytes = bytes.empty() ? bytes : bytes.subspan(first, count)});
    }
  }
}

}  // namespace segue
