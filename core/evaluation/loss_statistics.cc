// Sums by region, and what follows from them.
#include "core/evaluation/loss_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace segue {

namespace {

constexpr int64_t kFewestRegions = 5;

double square(double x) { return x * x; }

}  // namespace

void LossMean::add(int64_t region, double nll) {
  sums_[static_cast<size_t>(region)] += nll;
  ++counts_[static_cast<size_t>(region)];
}

int64_t LossMean::tokens() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }

double LossMean::mean() const {
  return std::accumulate(sums_.begin(), sums_.end(), 0.0) / static_cast<double>(tokens());
}

std::optional<double> LossMean::confidence95() const {
  const int64_t regions = kRegions - std::ranges::count(counts_, 0);
  if (regions < kFewestRegions) return std::nullopt;
  const double centre = mean();
  double spread = 0.0;  // an empty region adds nothing
  for (size_t i = 0; i < sums_.size(); ++i) spread += square(sums_[i] - centre * static_cast<double>(counts_[i]));
  const auto k = static_cast<double>(regions);
  const double error = std::sqrt(k / (k - 1.0) * spread) / static_cast<double>(tokens());
  return student_t_975(regions - 1) * error;
}

std::optional<LossMean> LossMean::above(const LossMean& other) const {
  if (counts_ != other.counts_) return std::nullopt;
  LossMean difference = *this;
  for (size_t i = 0; i < sums_.size(); ++i) difference.sums_[i] -= other.sums_[i];
  return difference;
}

double student_t_975(int64_t degrees_of_freedom) {
  const auto n = static_cast<double>(degrees_of_freedom);
  constexpr double kZ = 1.959963984540054;
  const double z3 = kZ * kZ * kZ;
  const double z5 = z3 * kZ * kZ;
  const double z7 = z5 * kZ * kZ;
  const double z9 = z7 * kZ * kZ;
  return kZ + (z3 + kZ) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * kZ) / (96.0 * n * n) +
         (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * kZ) / (384.0 * n * n * n) +
         (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * kZ) / (92160.0 * n * n * n * n);
}

int64_t ContextRule::most() const { return of(tgt_len - 1, mem_len); }

int64_t ContextRule::of(int64_t position, int64_t before) const {
  const int64_t there_is = position + 1 + std::min(mem_len, before);
  return window > 0 ? std::min(window, there_is) : there_is;
}

LossStatistics::LossStatistics(int64_t rows, const ContextRule& context)
    : rows_(rows), context_(context), by_position_(static_cast<size_t>(context.tgt_len)) {
  const int64_t most = context.most();
  const int64_t width = (most + kContextBins - 1) / kContextBins;
  for (int64_t from = 1; from <= most; from += width)
    by_context_.push_back({.from = from, .to = std::min(from + width - 1, most), .losses = {}});
}

void LossStatistics::add(const ScoredTokens& scored) {
  const int64_t width = by_context_.front().to;
  for (int64_t i = 0; i < std::ssize(scored.nll); ++i) {
    const int64_t region = (scored.place - 1 + i) * LossMean::kRegions / rows_;
    const double nll = scored.nll[static_cast<size_t>(i)];
    const int64_t position = scored.position + i;
    const int64_t context = context_.of(position, scored.before);
    total_.add(region, nll);
    by_position_[static_cast<size_t>(position)].add(region, nll);
    by_context_[static_cast<size_t>((context - 1) / width)].losses.add(region, nll);
  }
}

}  // namespace segue
