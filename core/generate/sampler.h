// The choice of a token from a distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace segue {

struct SamplingOptions {
  double temperature = 1.0;  // probabilities to the power of 1 / temperature; 0: always the most probable token
  int64_t top_k = 0;         // of the most probable tokens alone; 0: of all
  double top_p = 1.0;  // of the fewest most probable tokens that have this probability together (Holtzman et al. 2020)
  uint64_t seed = 1;
};

// Throws ConfigError naming the option that is out of range.
void check_sampling(const SamplingOptions& options);

class Sampler {
 public:
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
