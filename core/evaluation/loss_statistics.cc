#include "core/evaluation/loss_statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

constexpr int64_t kFewestRegions = 5;

// The variance of a sum of values that correlate with their neighbours, from deviations that add up to 0. All k - 1
// cosines would give k / (k - 1) times the sum of their squares, as if neighbours were independent.
double variance_of_sum(std::span<const double> deviations, int64_t cosines) {
  const auto k = static_cast<double>(deviations.size());
  double squares = 0.0;
  for (int64_t j = 1; j <= cosines; ++j) {
    double along = 0.0;
    for (size_t i = 0; i < deviations.size(); ++i)
      along += deviations[i] * std::cos(std::numbers::pi * static_cast<double>(j) * (static_cast<double>(i) + 0.5) / k);
    squares += 2.0 * along * along;
  }
  return squares / static_cast<double>(cosines);
}

std::optional<double> half_width95(const std::optional<StandardError>& error) {
  if (!error) return std::nullopt;
  return student_t_critical(0.05, error->degrees_of_freedom) * error->value;
}

}  // namespace

LossMean LossMean::of_answers() {
  LossMean answers;
  answers.grain_ = 1.0;
  return answers;
}

void LossMean::add(int64_t region, double nll, int64_t bytes) {
  sums_[static_cast<size_t>(region)] += nll;
  ++counts_[static_cast<size_t>(region)];
  bytes_[static_cast<size_t>(region)] += bytes;
}

int64_t LossMean::tokens() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }

int64_t LossMean::bytes() const { return std::accumulate(bytes_.begin(), bytes_.end(), int64_t{0}); }

double LossMean::mean(LossPer per) const {
  const MeanLoss over = loss();
  return per == LossPer::kToken ? over.per_token : over.per_byte.value();
}

MeanLoss LossMean::loss() const {
  return mean_loss(std::accumulate(sums_.begin(), sums_.end(), 0.0), tokens(), bytes());
}

std::optional<double> LossMean::confidence95(LossPer per) const { return half_width95(standard_error(per)); }

std::optional<StandardError> LossMean::standard_error(LossPer per) const {
  if (per == LossPer::kToken) return error_over(counts_);
  return bytes() > 0 ? error_over(bytes_) : std::nullopt;
}

std::optional<StandardError> LossMean::error_over(const Counts& counts) const {
  std::vector<double> deviations;
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const double centre = std::accumulate(sums_.begin(), sums_.end(), 0.0) / all;
  for (size_t i = 0; i < sums_.size(); ++i)
    if (counts_[i] > 0) deviations.push_back(sums_[i] - centre * static_cast<double>(counts[i]));
  if (std::ssize(deviations) < kFewestRegions) return std::nullopt;
  const int64_t cosines = std::min<int64_t>(kCosines, std::ssize(deviations) - 1);
  const double of_sum = std::max(std::sqrt(variance_of_sum(deviations, cosines)), grain_);
  return StandardError{.value = of_sum / all, .degrees_of_freedom = static_cast<double>(cosines)};
}

std::optional<LossMean> LossMean::above(const LossMean& other) const {
  if (counts_ != other.counts_) return std::nullopt;
  LossMean difference = *this;
  for (size_t i = 0; i < sums_.size(); ++i) difference.sums_[i] -= other.sums_[i];
  return difference;
}

LossMean LossMean::average(std::span<const LossMean> results) {
  if (results.empty()) throw ContractError("losses: the mean of no result");
  LossMean mean = results.front();
  for (const LossMean& result : results.subspan(1)) {
    if (result.counts_ != mean.counts_) throw ContractError("losses: the mean of results at other tokens");
    for (size_t i = 0; i < mean.sums_.size(); ++i) mean.sums_[i] += result.sums_[i];
  }
  for (double& sum : mean.sums_) sum /= static_cast<double>(results.size());
  return mean;
}

int64_t ContextRule::most() const {
  int64_t most = 0;
  for (int64_t position = 0; position < tgt_len; ++position) most = std::max(most, of(position, mem_len));
  return most;
}

int64_t ContextRule::of(int64_t position, int64_t before) const {
  if (is_untold) return mem_len + tgt_len;
  const int64_t there_is = position + 1 + std::min(mem_len, before);
  const int64_t window = windows.empty() ? 0 : windows[static_cast<size_t>(position) % windows.size()];
  return window > 0 ? std::min(window, there_is) : there_is;
}

LossStatistics::LossStatistics(int64_t rows, const ContextRule& context, std::span<const int64_t> runs)
    : rows_(rows), context_(context), by_position_(static_cast<size_t>(context.tgt_len)) {
  if (!runs.empty()) begins_.push_back(0);
  for (const int64_t run : runs) begins_.push_back(begins_.back() + run);
  if (context.is_untold) return;
  const int64_t most = context.most();
  const int64_t width = (most + kContextBins - 1) / kContextBins;
  for (int64_t from = 1; from <= most; from += width)
    by_context_.push_back({.from = from, .to = std::min(from + width - 1, most), .losses = {}});
}

int64_t LossStatistics::region_of(int64_t offset) const {
  if (begins_.empty()) return (offset - 1) * LossMean::kRegions / rows_;
  const auto next = std::ranges::upper_bound(begins_, offset);
  const int64_t begin = *std::prev(next);
  return (offset - begin) * LossMean::kRegions / (*next - begin);
}

void LossStatistics::add(const ScoredTokens& scored) {
  const int64_t width = by_context_.empty() ? 0 : by_context_.front().to;
  for (int64_t i = 0; i < std::ssize(scored.nll); ++i) {
    const int64_t region = region_of(scored.offset + i);
    const double nll = scored.nll[static_cast<size_t>(i)];
    const int64_t position = scored.position + i;
    const int64_t context = context_.of(position, scored.before);
    const int64_t bytes = scored.bytes.empty() ? 0 : scored.bytes[static_cast<size_t>(i)];
    total_.add(region, nll, bytes);
    by_position_[static_cast<size_t>(position)].add(region, nll, bytes);
    if (width > 0) by_context_[static_cast<size_t>((context - 1) / width)].losses.add(region, nll, bytes);
  }
}

}  // namespace segue
