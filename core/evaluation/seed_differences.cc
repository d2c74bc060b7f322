// Two standard errors, the interval of both, and Holm's steps.
#include "core/evaluation/seed_differences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

void check_seeds(std::span<const LossesOfSeeds> ways) {
  for (const LossesOfSeeds& way : ways) {
    if (way.empty() || way.size() != ways.front().size())
      throw ContractError("seeds: {} of one way of training, {} of another", ways.front().size(), way.size());
  }
}

// Of what is uncertain about a mean, each by itself.
using Errors = std::vector<StandardError>;

// Half of the interval that misses with probability `p`.
double half_width(const Errors& errors, double p) {
  double squares = 0.0;
  for (const StandardError& error : errors) {
    const double half = student_t_critical(p, error.degrees_of_freedom) * error.value;
    squares += half * half;
  }
  return std::sqrt(squares);
}

// At which the interval just reaches from `mean` to 0; no less than kLeast.
double p_of(double mean, const Errors& errors) {
  constexpr double kLeast = 1e-12;
  constexpr int kHalvings = 60;
  const double distance = std::abs(mean);
  if (distance == 0.0) return 1.0;
  if (half_width(errors, kLeast) <= distance) return kLeast;
  double low = std::log(kLeast);
  double high = 0.0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2.0;
    (half_width(errors, std::exp(middle)) > distance ? low : high) = middle;
  }
  return std::exp(high);
}

// Of the mean of what was found from each seed.
StandardError error_over_seeds(std::span<const double> of_seeds, double mean) {
  const auto count = static_cast<double>(of_seeds.size());
  double squares = 0.0;
  for (const double of_seed : of_seeds) squares += (of_seed - mean) * (of_seed - mean);
  return {.value = std::sqrt(squares / (count - 1.0) / count), .degrees_of_freedom = count - 1.0};
}

// From the seeds that both have.
SeedDifference difference_of(const LossesOfSeeds& way, const LossesOfSeeds& reference, LossPer per) {
  std::vector<LossMean> of_way;
  std::vector<LossMean> of_reference;
  std::vector<double> differences;
  for (size_t s = 0; s < way.size(); ++s) {
    if (!way[s] || !reference[s]) continue;
    of_way.push_back(*way[s]);
    of_reference.push_back(*reference[s]);
    differences.push_back(way[s]->mean(per) - reference[s]->mean(per));
  }
  SeedDifference found{.seeds = std::ssize(differences)};
  if (found.seeds == 0) return found;
  const std::optional<LossMean> losses = LossMean::average(of_way).above(LossMean::average(of_reference));
  if (!losses) throw ContractError("seeds: ways of training that score other tokens");
  found.mean = losses->mean(per);
  Errors errors;
  if (const std::optional<StandardError> text = losses->standard_error(per)) {
    found.error_of_text = text->value;
    errors.push_back(*text);
  }
  if (found.seeds > 1) {
    errors.push_back(error_over_seeds(differences, found.mean));
    found.error_of_seeds = errors.back().value;
  }
  // One seed that is left of several tells nothing of seeds, and an interval beside it would say that it does.
  if (!found.error_of_text || (found.seeds == 1 && way.size() > 1)) return found;
  found.confidence95 = half_width(errors, 0.05);
  found.p = p_of(found.mean, errors);
  return found;
}

}  // namespace

std::vector<SeedDifference> differences_over_seeds(std::span<const LossesOfSeeds> ways, LossPer per) {
  check_seeds(ways);
  std::vector<SeedDifference> differences;
  if (ways.size() < 2) return differences;
  for (const LossesOfSeeds& way : ways.subspan(1)) differences.push_back(difference_of(way, ways.front(), per));
  adjust_by_holm(differences);
  return differences;
}

std::optional<double> confidence95_over_seeds(std::span<const double> of_seeds) {
  if (of_seeds.size() < 2) return std::nullopt;
  const double mean = std::accumulate(of_seeds.begin(), of_seeds.end(), 0.0) / static_cast<double>(of_seeds.size());
  return half_width({error_over_seeds(of_seeds, mean)}, 0.05);
}

void adjust_by_holm(std::span<SeedDifference> differences) {
  std::vector<SeedDifference*> by_p;
  for (SeedDifference& difference : differences)
    if (difference.p) by_p.push_back(&difference);
  std::ranges::sort(by_p, {}, [](const SeedDifference* difference) { return *difference->p; });
  double largest = 0.0;
  for (size_t i = 0; i < by_p.size(); ++i) {
    largest = std::max(largest, static_cast<double>(by_p.size() - i) * *by_p[i]->p);
    by_p[i]->p_adjusted = std::min(1.0, largest);
  }
}

}  // namespace segue
