// Samples a token from a distribution.
#pragma once

#include <segue/options.h>

#include <cstdint>
#include <span>
#include <vector>

namespace segue {

class Sampler {
 public:
  // Throws ConfigError naming the option that is out of range.
  explicit Sampler(const SamplingOptions& options);

  // A token of the distribution [V]. A pure function of the options, the sample's number and the position in its text.
  // Throws DivergedError when the distribution holds something that is not a number.
  int32_t choose(std::span<const float> log_probability, int64_t sample, int64_t position);

 private:
  void find_candidates(std::span<const float> log_probability);
  void weigh_candidates(std::span<const float> log_probability);

  SamplingOptions options_;
  std::vector<int32_t> candidates_;  // of the last choice
  std::vector<double> weights_;
};

}  // namespace segue
