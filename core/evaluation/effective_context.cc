// The gains, one pair of contexts at a time: only their losses are in memory.
#include "core/evaluation/effective_context.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace segue {

namespace {

using Losses = std::vector<std::vector<float>>;  // of every model

void check_options(std::span<const int64_t> contexts, const EffectiveContextOptions& options) {
  if (contexts.size() < 2)
    throw UsageError("effective context: expected losses at two contexts or more, found {}", contexts.size());
  if (options.ratios.empty()) throw UsageError("effective context: expected a ratio, found none");
  check_fields<UsageError>(options, "effective context");
}

std::vector<float> best_of(const Losses& losses) {
  std::vector<float> best = losses.front();
  for (const std::vector<float>& model : losses)
    std::ranges::transform(best, model, best.begin(), [](float a, float b) { return std::min(a, b); });
  return best;
}

// The tokens from the hardest to the easiest, of equal ones the earlier first.
std::vector<size_t> hardest_first(const std::vector<float>& best) {
  std::vector<size_t> tokens(best.size());
  std::iota(tokens.begin(), tokens.end(), size_t{0});
  std::ranges::stable_sort(tokens, [&](size_t a, size_t b) { return best[a] > best[b]; });
  return tokens;
}

GainPoint gain_at(int64_t context, std::span<const size_t> tokens, const std::vector<float>& best,
                  const std::vector<float>& next) {
  GainPoint point{.context = context};
  for (const size_t t : tokens) {
    point.loss += best[t];
    point.next_loss += std::min(best[t], next[t]);
  }
  const auto count = static_cast<double>(tokens.size());
  point.loss /= count;
  point.next_loss /= count;
  point.gain = 1.0 - std::exp(point.next_loss - point.loss);
  return point;
}

void walk(GainCurve& curve, double threshold) {
  for (const GainPoint& point : curve.points) {
    curve.ends_within = point.gain < threshold;
    if (curve.ends_within) return;
    curve.effective_context = point.context;
  }
}

}  // namespace

void EffectiveContextOptions::describe(JsonFields& fields) {
  fields.optional(
      "ratios", ratios,
      {.meaning = "shares of the tokens to measure on, the hardest ones; a result for each", .above = 0, .maximum = 1});
  fields.optional("threshold", threshold, {.meaning = "smallest gain for which more context counts as used"});
}

std::vector<std::vector<GainCurve>> effective_contexts(size_t models, std::span<const int64_t> contexts,
                                                       const LossesAt& losses, const EffectiveContextOptions& options) {
  check_options(contexts, options);
  std::vector<std::vector<GainCurve>> curves(models);
  for (std::vector<GainCurve>& of_model : curves)
    for (const double ratio : options.ratios) of_model.push_back({.ratio = ratio, .points = {}});

  const auto all_at = [&](size_t context) {
    Losses at(models);
    for (size_t model = 0; model < models; ++model) at[model] = losses(model, context);
    return at;
  };
  Losses at = all_at(0);
  if (at.front().empty()) throw DataError("effective context: no token is scored in every file");
  for (size_t c = 0; c + 1 < contexts.size(); ++c) {
    const std::vector<float> best = best_of(at);
    const std::vector<size_t> hardest = hardest_first(best);
    at = all_at(c + 1);
    for (size_t model = 0; model < models; ++model) {
      for (GainCurve& curve : curves[model]) {
        const auto count = std::llround(curve.ratio * static_cast<double>(hardest.size()));
        const auto tokens = std::span(hardest).first(std::max<size_t>(static_cast<size_t>(count), 1));
        curve.points.push_back(gain_at(contexts[c], tokens, best, at[model]));
      }
    }
  }
  for (std::vector<GainCurve>& of_model : curves)
    for (GainCurve& curve : of_model) walk(curve, options.threshold);
  return curves;
}

}  // namespace segue
