// Two variances, their sum, and Holm's steps.
#include "core/evaluation/seed_differences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

// Variance of a difference, and how well it is known.
struct Variance {
  double value = 0.0;
  double degrees_of_freedom = 0.0;
};

void check_seeds(std::span<const LossesOfSeeds> ways) {
  for (const LossesOfSeeds& way : ways) {
    if (way.empty() || way.size() != ways.front().size())
      throw ContractError("seeds: {} of one way of training, {} of another", ways.front().size(), way.size());
  }
}

// The mean loss of a way from a seed.
struct Cell {
  size_t way = 0;
  size_t seed = 0;
  double value = 0.0;
};

std::vector<Cell> cells_of(std::span<const LossesOfSeeds> ways) {
  std::vector<Cell> cells;
  for (size_t w = 0; w < ways.size(); ++w) {
    for (size_t s = 0; s < ways[w].size(); ++s)
      if (ways[w][s]) cells.push_back({.way = w, .seed = s, .value = ways[w][s]->mean()});
  }
  return cells;
}

size_t count_groups(const std::vector<Cell>& cells, size_t Cell::*group) {
  std::set<size_t> found;
  for (const Cell& cell : cells) found.insert(cell.*group);
  return found.size();
}

// Returns the largest mean.
double take_off_means(std::vector<Cell>& cells, size_t Cell::*group) {
  std::map<size_t, std::pair<double, double>> sums;  // and counts
  for (const Cell& cell : cells) {
    auto& [sum, count] = sums[cell.*group];
    sum += cell.value;
    count += 1.0;
  }
  double largest = 0.0;
  for (Cell& cell : cells) {
    const auto& [sum, count] = sums[cell.*group];
    cell.value -= sum / count;
    largest = std::max(largest, std::abs(sum / count));
  }
  return largest;
}

// Of one mean, from what is left of all of them without those of way and seed, which are taken off in turns until
// nothing moves, as some may be missing: the residuals of least squares. None when nothing is left to tell it from.
std::optional<Variance> variance_of_seeds(std::span<const LossesOfSeeds> ways) {
  constexpr int kMostRounds = 10000;
  constexpr double kNothing = 1e-14;
  std::vector<Cell> cells = cells_of(ways);
  const size_t known = count_groups(cells, &Cell::way) + count_groups(cells, &Cell::seed);
  if (cells.size() + 1 <= known) return std::nullopt;
  for (int round = 0; round < kMostRounds; ++round) {
    const double of_ways = take_off_means(cells, &Cell::way);
    if (std::max(of_ways, take_off_means(cells, &Cell::seed)) < kNothing) break;
  }
  double squares = 0.0;
  for (const Cell& cell : cells) squares += cell.value * cell.value;
  const auto freedom = static_cast<double>(cells.size() + 1 - known);
  return Variance{.value = squares / freedom, .degrees_of_freedom = freedom};
}

Variance sum_of(const Variance& a, const Variance& b) {
  const double value = a.value + b.value;
  if (value == 0.0) return a;
  const double spread = a.value * a.value / a.degrees_of_freedom + b.value * b.value / b.degrees_of_freedom;
  return {.value = value, .degrees_of_freedom = value * value / spread};
}

// By both variances, or that of the text alone.
void judge(SeedDifference& found, const StandardError& text, const std::optional<Variance>& seeds) {
  found.error_of_text = text.value;
  Variance variance{.value = text.value * text.value, .degrees_of_freedom = text.degrees_of_freedom};
  if (seeds) variance = sum_of(variance, *seeds);
  const double error = std::sqrt(variance.value);
  found.confidence95 = student_t_quantile(0.975, variance.degrees_of_freedom) * error;
  if (error > 0.0)
    found.p = student_t_two_sided(found.mean / error, variance.degrees_of_freedom);
  else
    found.p = found.mean == 0.0 ? 1.0 : 0.0;
}

// From the seeds that both have.
SeedDifference difference_of(const LossesOfSeeds& way, const LossesOfSeeds& reference,
                             const std::optional<Variance>& of_seed) {
  std::vector<LossMean> of_way;
  std::vector<LossMean> of_reference;
  for (size_t s = 0; s < way.size(); ++s) {
    if (!way[s] || !reference[s]) continue;
    of_way.push_back(*way[s]);
    of_reference.push_back(*reference[s]);
  }
  SeedDifference found{.seeds = std::ssize(of_way)};
  if (found.seeds == 0) return found;
  const std::optional<LossMean> losses = LossMean::average(of_way).above(LossMean::average(of_reference));
  if (!losses) throw ContractError("seeds: ways of training that score other tokens");
  found.mean = losses->mean();
  std::optional<Variance> seeds = of_seed;
  if (seeds) {
    seeds->value *= 2.0 / static_cast<double>(found.seeds);
    found.error_of_seeds = std::sqrt(seeds->value);
  }
  if (const std::optional<StandardError> text = losses->standard_error()) judge(found, *text, seeds);
  return found;
}

}  // namespace

std::vector<SeedDifference> differences_over_seeds(std::span<const LossesOfSeeds> ways) {
  check_seeds(ways);
  std::vector<SeedDifference> differences;
  if (ways.size() < 2) return differences;
  const std::optional<Variance> of_seed = variance_of_seeds(ways);
  for (const LossesOfSeeds& way : ways.subspan(1)) differences.push_back(difference_of(way, ways.front(), of_seed));
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
