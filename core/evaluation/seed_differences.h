// How far several ways of training lie above one of them, as far as a few seeds of each and one text can tell.
//
// All were trained from the same seeds and met the same text. A difference is the mean over seeds of the paired
// differences (paired_difference.h). Two things make it uncertain. Other text of this kind: the variance is that of the
// difference averaged over seeds, region by region (LossMean). Other seeds: the variance is that of the seeds' means
// once those of way and seed are taken off, over all ways (randomised blocks, a seed is a block; Cochran and Cox 1957,
// 4.2), since two or three seeds of one way tell too little: with a variance of its own for each of seven equal ways
// from three seeds, one was told apart in 16 of 100 comparisons, with one for all in 4. The sum of both counts twice
// what text and seed do together, so that intervals err on the wide side. Student's t has the degrees of freedom of
// Welch and Satterthwaite (Satterthwaite 1946, Biometrics Bulletin 2, 110). With one seed nothing is known of others:
// the intervals are of the text alone. A seed from which a way's training diverged is missing, and the difference is of
// the seeds that both ways have: of trainings that end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evaluation/loss_statistics.h"

namespace segue {

// The losses of a way of training from each seed, by region; none where training diverged.
using LossesOfSeeds = std::vector<std::optional<LossMean>>;

struct SeedDifference {
  int64_t seeds = 0;                          // that both ways have; with none, nothing else is known
  double mean = 0.0;                          // nats per token: above 0 where the reference is better
  std::optional<double> confidence95 = {};    // half width, in nats; none where the text is too short for one
  std::optional<double> error_of_text = {};   // standard errors, in nats
  std::optional<double> error_of_seeds = {};  // none of one seed
  std::optional<double> p = {};               // of a difference at least so far from 0 were there none
  std::optional<double> p_of_all = {};        // the same, held together with the others (hold_together)
  bool is_told_apart() const { return p_of_all.value_or(1.0) < 0.05; }
};

// `ways` [ways][seeds], the same seeds in the same order. The differences of all but the first from the first, held
// together. Throws ContractError unless all have as many seeds, at least one, and score the same tokens.
std::vector<SeedDifference> differences_over_seeds(std::span<const LossesOfSeeds> ways);

// Sets p_of_all so that the chance of telling any apart that do not differ stays 5 %, however many there are (Holm
// 1979, Scandinavian Journal of Statistics 6, 65).
void hold_together(std::span<SeedDifference> differences);

}  // namespace segue
