// Plans as formulas: a split may have as many windows as tokens.
#include "core/evaluation/evaluation_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace segue {

namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t round_up(int64_t value, int64_t multiple) { return divide_up(value, multiple) * multiple; }

int64_t rows_of(int64_t tokens, int64_t max_tokens) {
  const int64_t rows = std::max<int64_t>(tokens - 1, 0);
  return max_tokens > 0 ? std::min(rows, max_tokens) : rows;
}

}  // namespace

EvaluationPlan::EvaluationPlan(const Extents& extents, LaneAt lane) : extents_(extents), lane_(std::move(lane)) {
  if (extents.lanes < 1 || extents.tgt_len < 1)
    throw ContractError("evaluation of {} lanes in segments of {} rows", extents.lanes, extents.tgt_len);
}

std::vector<Lane> EvaluationPlan::group(int64_t index) const {
  std::vector<Lane> lanes(static_cast<size_t>(extents_.lanes));
  const int64_t first = index * extents_.lanes;
  for (int64_t i = 0; i < std::min(extents_.lanes, extents_.count - first); ++i)
    lanes[static_cast<size_t>(i)] = lane_(first + i);
  return lanes;
}

int64_t EvaluationPlan::longest_lane() const {
  int64_t longest = 0;
  for (const Lane& lane : group(0)) longest = std::max(longest, lane.rows());
  return longest;
}

EvaluationPlan plan_blocks(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t max_tokens) {
  const int64_t block = tokens / lanes;
  int64_t rows = std::max<int64_t>(block - 1, 0);
  if (max_tokens > 0) rows = std::min(rows, round_up(divide_up(max_tokens, lanes), tgt_len));
  return {{lanes, tgt_len, lanes, rows_of(tokens, 0), lanes * rows}, [=](int64_t index) {
            const int64_t begin = index * block;
            return Lane{.begin = begin, .scored = begin, .end = begin + rows};
          }};
}

EvaluationPlan plan_streams(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t warm_up, int64_t max_tokens) {
  const int64_t rows = rows_of(tokens, max_tokens);
  const int64_t before = round_up(warm_up, tgt_len);
  const int64_t length = round_up(divide_up(rows + (lanes - 1) * before, lanes), tgt_len);
  const int64_t own = length - before;  // what a later lane scores; the first scores its warm-up too
  return {{lanes, tgt_len, lanes, rows, rows}, [=](int64_t index) {
            const int64_t scored = std::min(index == 0 ? 0 : index * own + before, rows);
            const int64_t end = std::min(index * own + length, rows);
            if (scored >= end) return Lane{};
            return Lane{.begin = index * own, .scored = scored, .end = end};
          }};
}

EvaluationPlan plan_windows(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t stride, int64_t max_tokens) {
  if (stride < 1 || stride > tgt_len) throw ContractError("windows of {} rows at a stride of {}", tgt_len, stride);
  const int64_t rows = rows_of(tokens, max_tokens);
  // The first rows are scored as the others are, in windows that begin at the split's beginning.
  return {{lanes, tgt_len, divide_up(rows, stride), rows, rows}, [=](int64_t index) {
            const int64_t scored = index * stride;
            const int64_t end = std::min(scored + stride, rows);
            return Lane{.begin = std::max<int64_t>(end - tgt_len, 0), .scored = scored, .end = end};
          }};
}

EvaluationPlan plan_documents(int64_t tokens, std::span<const int64_t> begins, int64_t lanes, int64_t tgt_len,
                              int64_t max_tokens) {
  const int64_t rows = rows_of(tokens, max_tokens);
  std::vector<Lane> documents;
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t begin = std::max<int64_t>(begins[i] - 1, 0);
    const int64_t end = std::min(i + 1 < begins.size() ? begins[i + 1] - 1 : rows, rows);
    if (begin < end) documents.push_back({.begin = begin, .scored = begin, .end = end});
  }
  std::ranges::stable_sort(documents, std::ranges::greater{}, &Lane::rows);
  const int64_t count = std::ssize(documents);
  return {{lanes, tgt_len, count, rows, rows},
          [documents = std::move(documents)](int64_t index) { return documents[static_cast<size_t>(index)]; }};
}

EvaluationPlan plan_examples(const std::vector<ExampleRun>& runs, int64_t lanes, int64_t tgt_len, int64_t max_tokens) {
  int64_t tokens = 0;
  for (const ExampleRun& run : runs) tokens += run.count * run.tokens;
  struct Taken {
    int64_t first;  // of all that are taken
    int64_t begin;  // of the run's first token
    int64_t tokens;
  };
  std::vector<Taken> taken;
  int64_t count = 0;
  int64_t begin = 0;
  int64_t scored = 0;
  for (const ExampleRun& run : runs) {
    taken.push_back({count, begin, run.tokens});
    const double share = static_cast<double>(max_tokens) / static_cast<double>(tokens);
    const bool all = max_tokens == 0 || share >= 1.0;
    const int64_t some = all ? run.count : static_cast<int64_t>(std::ceil(share * static_cast<double>(run.count)));
    count += some;
    scored += some * (run.tokens - 1);
    begin += run.count * run.tokens;
  }
  return {{lanes, tgt_len, count, rows_of(tokens, 0), scored}, [taken = std::move(taken)](int64_t index) {
            const auto after = std::ranges::upper_bound(taken, index, {}, &Taken::first);
            const Taken& run = *(after - 1);
            const int64_t first = run.begin + (index - run.first) * run.tokens;
            return Lane{.begin = first, .scored = first, .end = first + run.tokens - 1};
          }};
}

}  // namespace segue
