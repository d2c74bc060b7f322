#include "core/attention/adaptive_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/attention/visibility.h"
#include "core/config/layers.h"
#include "core/config/visibility_kind.h"

namespace segue {

AdaptiveSpan::AdaptiveSpan(const ModelConfig& model, int64_t layer)
    : visibility_(visibility_of_layer(model, layer)),
      heads_(model.n_head),
      layer_(layer),
      parameter_(prefix_of_layer(model, layer) + "attention.span") {}

double AdaptiveSpan::penalty() const { return visibility_.penalty * longest() / static_cast<double>(heads_); }

void AdaptiveSpan::declare(std::vector<ParameterSpec>& specs) const {
  specs.push_back({.name = parameter_,
                   .shape = {heads_},
                   .initializer = Initializer::kConstant,
                   .constant = static_cast<float>(visibility_.initial),
                   .bounds = ParameterBounds{.penalty = static_cast<float>(penalty())}});
}

Value AdaptiveSpan::add_to(Tape& tape, Parameters& parameters, const Value& biases, int64_t keys) const {
  const Value mask = distance_curve(tape,
                                    {.formula = kernels::CurveFormula::kSpan,
                                     .alpha = parameters[parameter_],
                                     .beta = {},
                                     .span = {.longest = longest(), .ramp = static_cast<double>(visibility_.ramp)}},
                                    keys);
  return biases.data.exists() ? sum_of_biases(tape, biases, mask) : mask;
}

int64_t AdaptiveSpan::keys_seen(float z) const {
  const double keys = static_cast<double>(visibility_.ramp) + static_cast<double>(z) * longest();
  const int64_t most = visibility_.span + visibility_.ramp;
  return keys < static_cast<double>(most) ? static_cast<int64_t>(std::ceil(std::max(keys, 1.0))) : most;
}

double AdaptiveSpan::visible_pairs(Parameters& parameters, int64_t tgt_len, int64_t memory) const {
  const HostTensor z(parameters[parameter_].value, parameters.compute().device);
  double pairs = 0.0;
  for (int64_t n = 0; n < heads_; ++n)
    pairs += segue::visible_pairs({.window = keys_seen(z.view().as<float>()[n])}, 1, tgt_len, memory);
  return pairs / static_cast<double>(heads_);
}

std::optional<AdaptiveSpan> adaptive_span_of(const ModelConfig& model, int64_t layer) {
  if (visibility_of_layer(model, layer).kind != VisibilityKind::kAdaptive) return {};
  return AdaptiveSpan(model, layer);
}

std::vector<AdaptiveSpan> adaptive_spans_of(const ModelConfig& model) {
  std::vector<AdaptiveSpan> spans;
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    if (const std::optional<AdaptiveSpan> span = adaptive_span_of(model, layer)) spans.push_back(*span);
  return spans;
}

std::optional<LearnedSpans> learned_spans(const ModelConfig& model, Parameters& parameters) {
  const std::vector<AdaptiveSpan> spans = adaptive_spans_of(model);
  if (spans.empty()) return {};
  LearnedSpans learned{.layers = std::vector<std::vector<double>>(static_cast<size_t>(model.n_layer))};
  for (const AdaptiveSpan& span : spans) {
    const HostTensor shares(parameters[span.parameter()].value, parameters.compute().device);
    for (int64_t n = 0; n < model.n_head; ++n) {
      const auto z = static_cast<double>(shares.view().as<float>()[n]);
      learned.layers[static_cast<size_t>(span.layer())].push_back(z * span.longest());
      learned.penalty += z * span.penalty();
    }
  }
  return learned;
}

}  // namespace segue
