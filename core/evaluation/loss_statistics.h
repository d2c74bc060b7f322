// Mean losses with their confidence: of all tokens, by position in the segment, and by available context.
//
// Neighbouring losses correlate, so that a token is not an observation of its own. The split is cut into 64 regions of
// consecutive tokens. A region's deviation is its sum minus the mean times its tokens (the ratio estimator, Cochran
// 1977, 6.3, as regions may hold different numbers of scored tokens). The variance of the sum comes from the eight
// slowest cosines of the deviations, which see what neighbours share, and the 95 % confidence from Student's t with a
// degree of freedom for each (Lazarus, Lewis, Stock and Watson 2018, JBES 36, 541). The number of cosines is fixed, so
// that nearly equal losses have nearly equal intervals. Where the split consists of examples, each region has its share
// of every run of them (Cochran 1977, 5.3, strata): runs are as hard as they were made. Per byte it is the same
// estimator, with the bytes of the scored tokens in place of their number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evaluation/evaluator.h"
#include "core/evaluation/loss_units.h"

namespace segue {

// Of a mean, in nats, and how well it is known itself.
struct StandardError {
  double value = 0.0;
  double degrees_of_freedom = 0.0;
};

// What a mean loss is over.
enum class LossPer : uint8_t { kToken, kByte };

class LossMean {
 public:
  static constexpr int64_t kRegions = 64;
  static constexpr int64_t kCosines = 8;  // fewer where fewer regions hold tokens
  // Of right answers, which are 1 or 0. Where all regions happen to have the same share, its standard error is that of
  // one answer, not 0.
  static LossMean of_answers();
  // `bytes`: of text that the token stands for; 0 throughout where they are not known.
  void add(int64_t region, double nll, int64_t bytes = 0);
  int64_t tokens() const;
  int64_t bytes() const;  // 0: not known
  // Nats per token, or per byte, whose number is then to be known.
  double mean(LossPer per = LossPer::kToken) const;
  MeanLoss loss() const;
  // In nats; none when fewer than five regions hold tokens, and per byte where bytes are not known.
  std::optional<StandardError> standard_error(LossPer per = LossPer::kToken) const;
  std::optional<double> confidence95(LossPer per = LossPer::kToken) const;  // half width, likewise

  // How far the losses are above those of another result at the same tokens. Its confidence is far narrower than that
  // of either, as both met the same text. None when the regions hold different numbers of tokens.
  std::optional<LossMean> above(const LossMean& other) const;

  // Takes over the bytes of another result at the same tokens.
  void take_bytes_of(const LossMean& other) { bytes_ = other.bytes_; }

  // The mean of every region over results at the same tokens. Throws ContractError when they are none, or of others.
  static LossMean average(std::span<const LossMean> results);

 private:
  using Counts = std::array<int64_t, kRegions>;
  std::optional<StandardError> error_over(const Counts& counts) const;  // of the sum over these

  std::array<double, kRegions> sums_{};
  Counts counts_{};     // of tokens
  Counts bytes_{};      // of their text
  double grain_ = 0.0;  // the least by which one token differs from another, where there is one
};

// Which tokens a query could attend to directly, its own included: its position in the segment and the rows in memory,
// and no more than a window of them, unless that is 0. Untold of a model that looks ahead, whose tokens may see less,
// and of one with memory tokens, which hand on more: there is only the most, memory and segment. Windows are those of
// the segment's first positions and repeat; none: there is no window.
struct ContextRule {
  int64_t tgt_len = 1;
  int64_t mem_len = 0;
  std::vector<int64_t> windows = {};
  bool is_untold = false;
  int64_t most() const;
  int64_t of(int64_t position, int64_t before) const;  // after `before` rows in earlier segments
};

class LossStatistics {
 public:
  static constexpr int64_t kContextBins = 32;

  // For a split of `rows` rows. `runs`: the tokens of each run of examples, where it consists of them.
  LossStatistics(int64_t rows, const ContextRule& context, std::span<const int64_t> runs = {});
  void add(const ScoredTokens& scored);

  const LossMean& total() const { return total_; }
  const std::vector<LossMean>& by_position() const { return by_position_; }  // tgt_len of them
  struct Bin {
    int64_t from = 0;  // tokens of context
    int64_t to = 0;
    LossMean losses;
  };
  // None of a model that looks ahead.
  const std::vector<Bin>& by_context() const { return by_context_; }

 private:
  int64_t region_of(int64_t offset) const;

  int64_t rows_;
  std::vector<int64_t> begins_;  // of runs of examples, and the end of the last; none: the split is one text
  ContextRule context_;
  LossMean total_;
  std::vector<LossMean> by_position_;
  std::vector<Bin> by_context_;  // of equal width
};

}  // namespace segue
