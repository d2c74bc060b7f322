// Adaptive computation time by its formulas (Graves 2016; Dehghani et al. 2019), in plain loops, for one stream.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace segue::oracle {

// The passes of [T, D] rows, one after another. Whether a token halts is a matter of real numbers.
template <typename Scalar>
class Halting {
 public:
  using Rows = std::vector<Scalar>;

  Halting(size_t tokens, double epsilon, int64_t passes)
      : epsilon_(epsilon),
        passes_left_(passes),
        weighed_(tokens),
        halted_(tokens),
        taken_(tokens),
        remainders_(tokens) {}

  // A pass, by the logits [T] of halting, made `after` of `before`: the rows that the next one reads.
  Rows after_pass(const Rows& logits, const Rows& before, Rows after) {
    const size_t width = after.size() / halted_.size();
    sum_.resize(after.size());
    const bool is_last = --passes_left_ == 0;
    for (size_t t = 0; t < halted_.size(); ++t) {
      if (halted_[t]) {
        std::copy_n(before.begin() + t * width, width, after.begin() + t * width);
        continue;
      }
      ++taken_[t];
      const Scalar share = 1.0 / (1.0 + std::exp(-logits[t]));
      halted_[t] = is_last || real(weighed_[t] + share) > 1.0 - epsilon_;
      const Scalar weight = halted_[t] ? 1.0 - weighed_[t] : share;
      if (halted_[t]) remainders_[t] = weight;
      weighed_[t] += weight;
      for (size_t c = t * width; c < (t + 1) * width; ++c) sum_[c] += weight * after[c];
    }
    return after;
  }

  const Rows& output() const { return sum_; }
  const std::vector<int64_t>& taken() const { return taken_; }
  const Rows& weighed() const { return weighed_; }  // 1 each, in the end

  // The mean over tokens of passes and remainders.
  Scalar ponder() const {
    Scalar sum = 0.0;
    for (size_t t = 0; t < taken_.size(); ++t) sum += static_cast<double>(taken_[t]) + remainders_[t];
    return sum / static_cast<double>(taken_.size());
  }

 private:
  static double real(double x) { return x; }
  static double real(const std::complex<double>& x) { return x.real(); }

  double epsilon_;
  int64_t passes_left_;
  Rows weighed_;
  std::vector<bool> halted_;
  std::vector<int64_t> taken_;
  Rows remainders_;
  Rows sum_;
};

}  // namespace segue::oracle
