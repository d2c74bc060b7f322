// How far several ways of training lie above one of them, as far as a few seeds of each and one text can tell.
//
// All were trained from the same seeds and evaluated on the same text. A difference is the mean over seeds of the
// paired differences (paired_difference.h). Two things make it uncertain, each with a standard error of its own: other
// text of this kind (e[t], f[t] degrees of freedom: the difference averaged over seeds, region by region, LossMean),
// and other seeds (e[s], f[s] = seeds - 1: the spread of the seeds' differences). With t(p, f) the two-sided critical
// value of Student's distribution, the half width of an interval that misses with probability p is
//
//   h(p) = sqrt(t(p, f[t])^2 e[t]^2 + t(p, f[s])^2 e[s]^2)
//
// which is the exact one where only text or only seeds vary, and errs on the wide side in between (a squared form of
// Cochran's approximation; Cochran and Cox 1957, 4.14). The p of a difference is that at which h(p) reaches it.
//
// Every difference has a variance of seeds of its own, although two or three seeds tell little of it: ways differ in
// how far apart their seeds lie, by as much as five times between models trained with and without memory. A variance
// pooled over ways halves the intervals of three seeds, and is wrong by that factor: of eleven ways that do not differ,
// trained from three seeds, with a reference whose seeds lie five times as far apart as those of the others, it found a
// significant difference in 28 of 100 comparisons. Here it is 4. Adding up the variances and taking the degrees of
// freedom of Welch and Satterthwaite does not hold 5 % either: a variance of few seeds that is small by chance also
// raises its degrees of freedom (17 of 100 where all ways scatter alike).
//
// With one seed nothing is known of others: the intervals are of the text alone. A seed from which a way's training
// diverged is missing: the difference is of the seeds that both ways have, that is, of trainings that end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evaluation/loss_statistics.h"

namespace segue {

// The losses of a way of training from each seed, by region, or its shares of right answers; none where training
// diverged.
using LossesOfSeeds = std::vector<std::optional<LossMean>>;

struct SeedDifference {
  int64_t seeds = 0;                          // that both ways have; with none, nothing else is known
  double mean = 0.0;                          // in what is compared: of losses, above 0 where the reference is better
  std::optional<double> confidence95 = {};    // half width; none where text or shared seeds are too few for one
  std::optional<double> error_of_text = {};   // standard errors
  std::optional<double> error_of_seeds = {};  // none of one seed
  std::optional<double> p = {};               // of a difference at least so far from 0 were there none
  std::optional<double> p_adjusted = {};      // for all differences that are looked at together (adjust_by_holm)
  bool is_significant() const { return p_adjusted.value_or(1.0) < 0.05; }
};

// `ways` [ways][seeds], the same seeds in the same order. The differences of all but the first from the first, in nats
// per token or per byte, their p adjusted. Throws ContractError unless all have as many seeds, at least one, and score
// the same tokens.
std::vector<SeedDifference> differences_over_seeds(std::span<const LossesOfSeeds> ways, LossPer per = LossPer::kToken);

// Half the width of the interval of a mean over seeds, with what other seeds alone make uncertain; none of one seed.
std::optional<double> confidence95_over_seeds(std::span<const double> of_seeds);

// Sets p_adjusted so that the chance of calling any of them significant that is not there stays 5 %, however many there
// are (Holm 1979, Scandinavian Journal of Statistics 6, 65).
void adjust_by_holm(std::span<SeedDifference> differences);

}  // namespace segue
