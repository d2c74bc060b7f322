#include "core/evaluation/loss_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

constexpr int64_t kFewestRegions = 5;
constexpr size_t kFewestJoined = 8;

// How far regions that have tokens lie off the mean, each as the sum over its tokens.
struct Deviations {
  std::vector<double> off;

  int64_t regions() const { return std::ssize(off); }

  // Beyond one standard error of what chance makes of k independent regions, 1/sqrt(k): to miss a correlation narrows
  // the interval by more than joining in vain widens it.
  bool neighbours_correlate() const {
    const double squares = std::inner_product(off.begin(), off.end(), off.begin(), 0.0);
    const double products = std::inner_product(off.begin(), off.end() - 1, off.begin() + 1, 0.0);
    return products > squares / std::sqrt(static_cast<double>(regions()));
  }

  Deviations joined() const {
    Deviations pairs;
    for (size_t i = 0; i + 1 < off.size(); i += 2) pairs.off.push_back(off[i] + off[i + 1]);
    if (off.size() % 2 == 1) pairs.off.back() += off.back();
    return pairs;
  }
};

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
  Deviations deviations;
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const double centre = std::accumulate(sums_.begin(), sums_.end(), 0.0) / all;
  for (size_t i = 0; i < sums_.size(); ++i)
    if (counts_[i] > 0) deviations.off.push_back(sums_[i] - centre * static_cast<double>(counts[i]));
  if (deviations.regions() < kFewestRegions) return std::nullopt;
  while (deviations.neighbours_correlate() && deviations.off.size() > kFewestJoined) {
    Deviations longer = deviations.joined();
    if (longer.regions() < kFewestRegions) break;
    deviations = std::move(longer);
  }
  const std::vector<double>& off = deviations.off;
  const double spread = std::inner_product(off.begin(), off.end(), off.begin(), 0.0);
  const auto k = static_cast<double>(deviations.regions());
  const double of_sum = std::max(std::sqrt(k / (k - 1.0) * spread), grain_);
  return StandardError{.value = of_sum / all, .degrees_of_freedom = k - 1.0};
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
