#include "core/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "core/generate/options.h"

namespace segue {

Sampler::Sampler(const SamplingOptions& options) : options_(options) { check_options(options); }

int32_t Sampler::choose(std::span<const float> log_probability, int64_t sample, int64_t position) {
  const auto is_broken = [](float value) {
    return std::isnan(value) || value == std::numeric_limits<float>::infinity();
  };
  const auto broken = std::find_if(log_probability.begin(), log_probability.end(), is_broken);
  if (broken != log_probability.end())
    throw DivergedError("token {} of the generated text: the logarithm of a probability is {}", position,
                        non_finite(*broken));
  if (options_.temperature == 0.0)
    return static_cast<int32_t>(std::max_element(log_probability.begin(), log_probability.end()) -
                                log_probability.begin());
  find_candidates(log_probability);
  weigh_candidates(log_probability);
  const RandomSequence random{
      .seed = static_cast<uint64_t>(options_.seed), .step = static_cast<uint64_t>(position), .site = 0};
  double left =
      random_uniform(random, static_cast<uint64_t>(sample)) * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (size_t i = 0; i < weights_.size(); ++i) {
    left -= weights_[i];
    if (left < 0.0) return candidates_[i];
  }
  return candidates_.back();  // the last one's share was lost to rounding
}

// The most probable first when some are left out; among equals the lower number.
void Sampler::find_candidates(std::span<const float> log_probability) {
  candidates_.resize(log_probability.size());
  std::iota(candidates_.begin(), candidates_.end(), 0);
  if (options_.top_k == 0 && options_.top_p == 1.0) return;
  const auto more_probable = [&](int32_t a, int32_t b) {
    const float p = log_probability[static_cast<size_t>(a)];
    const float q = log_probability[static_cast<size_t>(b)];
    return p > q || (p == q && a < b);
  };
  const int64_t all = std::ssize(candidates_);
  const int64_t kept = options_.top_k == 0 ? all : std::min(options_.top_k, all);
  std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), more_probable);
  candidates_.resize(static_cast<size_t>(kept));
}

void Sampler::weigh_candidates(std::span<const float> log_probability) {
  weights_.clear();
  for (const int32_t token : candidates_)
    weights_.push_back(static_cast<double>(log_probability[static_cast<size_t>(token)]));
  const double largest = *std::max_element(weights_.begin(), weights_.end());
  for (double& each : weights_) each = std::exp((each - largest) / options_.temperature);
  if (options_.top_p == 1.0) return;
  const double wanted = options_.top_p * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  double sum = 0.0;
  size_t kept = 0;
  while (kept < weights_.size() && sum < wanted) sum += weights_[kept++];
  candidates_.resize(kept);
  weights_.resize(kept);
}

}  // namespace segue
