// Sampled tokens against the distribution they are drawn from.
#include "core/generate/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "tests/message_of.h"

namespace segue {
namespace {

constexpr int64_t kVocabulary = 40;
constexpr int64_t kDraws = 100000;

std::vector<float> log_probabilities() {
  std::vector<double> scores;
  for (uint64_t i = 0; i < kVocabulary; ++i)
    scores.push_back(1.5 * random_normal({.seed = 4, .step = 0, .site = 1}, i));
  double total = 0.0;
  for (const double score : scores) total += std::exp(score);
  std::vector<float> log_p;
  for (const double score : scores) log_p.push_back(static_cast<float>(score - std::log(total)));
  return log_p;
}

std::vector<int64_t> counts_of(const SamplingOptions& options) {
  const std::vector<float> log_p = log_probabilities();
  Sampler sampler(options);
  std::vector<int64_t> counts(log_p.size());
  for (int64_t i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(sampler.choose(log_p, i % 4, i / 4))];
  return counts;
}

// Against probabilities that sum to one. What has none must not be drawn.
void expect_distribution(const SamplingOptions& options, const std::vector<double>& p) {
  const std::vector<int64_t> counts = counts_of(options);
  double chi_square = 0.0;
  double freedom = -1.0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0.0) {
      EXPECT_EQ(counts[i], 0) << i;
      continue;
    }
    const double expected = p[i] * static_cast<double>(kDraws);
    chi_square += (static_cast<double>(counts[i]) - expected) * (static_cast<double>(counts[i]) - expected) / expected;
    freedom += 1.0;
  }
  // Wilson and Hilferty's normal approximation; 3.1 standard deviations: one in a thousand.
  const double deviation =
      (std::cbrt(chi_square / freedom) - (1.0 - 2.0 / (9.0 * freedom))) / std::sqrt(2.0 / (9.0 * freedom));
  EXPECT_LT(deviation, 3.1) << "chi-square " << chi_square << " of " << freedom << " degrees of freedom";
  EXPECT_GT(deviation, -3.1) << "too even: chi-square " << chi_square;
}

std::vector<double> probabilities(double temperature) {
  std::vector<double> p;
  for (const float log_p : log_probabilities()) p.push_back(std::exp(static_cast<double>(log_p) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& each : p) each /= total;
  return p;
}

// The `count` largest, made to sum to one again.
std::vector<double> largest(std::vector<double> p, size_t count) {
  std::vector<double> sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  double total = 0.0;
  for (double& each : p) total += each = each >= sorted[count - 1] ? each : 0.0;
  for (double& each : p) each /= total;
  return p;
}

TEST(Sampler, DrawsFromTheSoftmax) { expect_distribution({}, probabilities(1.0)); }
TEST(Sampler, DrawsAtATemperature) {
  expect_distribution({.temperature = 0.7}, probabilities(0.7));
  expect_distribution({.temperature = 2.0, .seed = 5}, probabilities(2.0));
}
TEST(Sampler, DrawsAmongTheMostProbable) { expect_distribution({.top_k = 7}, largest(probabilities(1.0), 7)); }

TEST(Sampler, DrawsFromTheNucleus) {
  const std::vector<double> p = probabilities(0.8);
  std::vector<double> sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  size_t count = 0;
  for (double sum = 0.0; sum < 0.6; ++count) sum += sorted[count];
  expect_distribution({.temperature = 0.8, .top_p = 0.6}, largest(p, count));
  const std::vector<int64_t> certain = counts_of({.top_p = 1e-9});
  EXPECT_EQ(*std::max_element(certain.begin(), certain.end()), kDraws);
}

TEST(Sampler, AtTemperatureZeroTakesTheMostProbable) {
  const std::vector<float> log_p = log_probabilities();
  Sampler sampler({.temperature = 0.0});
  const auto best = std::max_element(log_p.begin(), log_p.end()) - log_p.begin();
  for (int64_t position = 0; position < 9; ++position) EXPECT_EQ(sampler.choose(log_p, 0, position), best);
}

TEST(Sampler, IsAFunctionOfSeedSampleAndPosition) {
  const std::vector<float> log_p = log_probabilities();
  Sampler a({.seed = 3}), b({.seed = 3}), other({.seed = 4});
  int64_t differences = 0;
  for (int64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(a.choose(log_p, 2, position), b.choose(log_p, 2, position));
    differences += a.choose(log_p, 2, position) != other.choose(log_p, 2, position) ? 1 : 0;
    differences += a.choose(log_p, 2, position) != a.choose(log_p, 3, position) ? 1 : 0;
  }
  EXPECT_GT(differences, 50);
}

TEST(Sampler, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(message_of<ConfigError>([] { Sampler({.temperature = -1.0}); }),
            "options: temperature: expected a number >= 0, found -1.0");
  EXPECT_EQ(message_of<ConfigError>([] { Sampler({.top_k = -2}); }),
            "options: top_k: expected an integer >= 0, found -2");
  EXPECT_EQ(message_of<ConfigError>([] { Sampler({.top_p = 0.0}); }),
            "options: top_p: expected a number > 0 and <= 1, found 0.0");
  std::vector<float> broken = log_probabilities();
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(message_of<DivergedError>([&] { Sampler({}).choose(broken, 0, 8); }),
            "token 8 of the generated text: the logarithm of a probability is nan");
}

}  // namespace
}  // namespace segue
