// Two variances, their sum, and Holm's steps.
#include "core/evaluation/seed_differences.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

// Variance of a difference, and how well it is known.
struct Variance {
  double value = 0.0;
  double degrees_of_freedom = 0.0;
};

void check_seeds(std::span<const std::vector<LossMean>> ways) {
  for (const std::vector<LossMean>& way : ways) {
    if (way.empty() || way.size() != ways.front().size())
      throw ContractError("seeds: {} of one way of training, {} of another", ways.front().size(), way.size());
  }
}

// Of two ways' means over seeds, from what is left of the seeds' means without those of way and seed.
Variance variance_of_seeds(std::span<const std::vector<LossMean>> ways) {
  const size_t seeds = ways.front().size();
  std::vector<double> of_seed(seeds);
  double of_all = 0.0;
  for (const std::vector<LossMean>& way : ways) {
    for (size_t s = 0; s < seeds; ++s) of_seed[s] += way[s].mean() / static_cast<double>(ways.size());
  }
  for (const double mean : of_seed) of_all += mean / static_cast<double>(seeds);
  double squares = 0.0;
  for (const std::vector<LossMean>& way : ways) {
    const double of_way = LossMean::average(way).mean();
    for (size_t s = 0; s < seeds; ++s) squares += std::pow(way[s].mean() - of_way - of_seed[s] + of_all, 2);
  }
  const auto n = static_cast<double>(seeds);
  const double freedom = static_cast<double>(ways.size() - 1) * (n - 1.0);
  return {.value = 2.0 * squares / freedom / n, .degrees_of_freedom = freedom};
}

Variance sum_of(const Variance& a, const Variance& b) {
  const double value = a.value + b.value;
  if (value == 0.0) return a;
  const double spread = a.value * a.value / a.degrees_of_freedom + b.value * b.value / b.degrees_of_freedom;
  return {.value = value, .degrees_of_freedom = value * value / spread};
}

LossMean over_seeds(const std::vector<LossMean>& way, const std::vector<LossMean>& reference) {
  const std::optional<LossMean> difference = LossMean::average(way).above(LossMean::average(reference));
  if (!difference) throw ContractError("seeds: ways of training that score other tokens");
  return *difference;
}

SeedDifference difference_of(const LossMean& losses, const std::optional<Variance>& seeds) {
  SeedDifference found{.mean = losses.mean()};
  if (seeds) found.error_of_seeds = std::sqrt(seeds->value);
  const std::optional<StandardError> text = losses.standard_error();
  if (!text) return found;
  found.error_of_text = text->value;
  Variance variance{.value = text->value * text->value, .degrees_of_freedom = text->degrees_of_freedom};
  if (seeds) variance = sum_of(variance, *seeds);
  const double error = std::sqrt(variance.value);
  found.confidence95 = student_t_quantile(0.975, variance.degrees_of_freedom) * error;
  if (error > 0.0)
    found.p = student_t_two_sided(found.mean / error, variance.degrees_of_freedom);
  else
    found.p = found.mean == 0.0 ? 1.0 : 0.0;
  return found;
}

}  // namespace

std::vector<SeedDifference> differences_over_seeds(std::span<const std::vector<LossMean>> ways) {
  check_seeds(ways);
  std::vector<SeedDifference> differences;
  if (ways.size() < 2) return differences;
  std::optional<Variance> seeds;
  if (ways.front().size() > 1) seeds = variance_of_seeds(ways);
  for (const std::vector<LossMean>& way : ways.subspan(1))
    differences.push_back(difference_of(over_seeds(way, ways.front()), seeds));
  hold_together(differences);
  return differences;
}

void hold_together(std::span<SeedDifference> differences) {
  std::vector<SeedDifference*> by_p;
  for (SeedDifference& difference : differences)
    if (difference.p) by_p.push_back(&difference);
  std::ranges::sort(by_p, {}, [](const SeedDifference* difference) { return *difference->p; });
  double largest = 0.0;
  for (size_t i = 0; i < by_p.size(); ++i) {
    largest = std::max(largest, static_cast<double>(by_p.size() - i) * *by_p[i]->p);
    by_p[i]->p_of_all = std::min(1.0, largest);
  }
}

}  // namespace segue
