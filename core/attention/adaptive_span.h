// Adaptive attention spans (Sukhbaatar et al. 2019): every head of a layer learns how far back it looks.
//
// A head keeps of the weight of a key at distance d the share m(d) = (R + z S - d) / R, at least 0 and at most 1: all
// of it up to its span z S, nothing from z S + R on, with z in [0, 1] learned, S the longest span and R the ramp.
// Weights are normalised again, so that attention is the softmax of scores + log m. Distance 0 is the query's own key,
// which the authors' code leaves out: what it sees of the key before the query is what is seen here of the query's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tape/operations.h"

namespace segue {

class AdaptiveSpan {
 public:
  AdaptiveSpan(const ModelConfig& model, int64_t layer);

  int64_t layer() const { return layer_; }
  const std::string& parameter() const { return parameter_; }  // its name: z of every head, [N]
  double longest() const { return static_cast<double>(visibility_.span); }
  // What training adds to its loss for all heads' z together, times this: a layer's mean span costs `penalty` a token.
  double penalty() const;

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records log m, with what else is added to scores, if anything is: [N, keys] float32.
  Value add_to(Tape& tape, Parameters& parameters, const Value& biases, int64_t keys) const;

  // As many newest keys hold all that a head of such a z gives some weight.
  int64_t keys_seen(float z) const;

  // Pairs of query and key that get some weight from a head of one stream, by today's spans; the mean over heads.
  double visible_pairs(Parameters& parameters, int64_t tgt_len, int64_t memory) const;

 private:
  VisibilityConfig visibility_;
  int64_t heads_;
  int64_t layer_;
  std::string parameter_;
};

// What heads have learned so far.
struct LearnedSpans {
  std::vector<std::vector<double>> layers;  // z S of every head, in tokens; nothing of a layer of another kind
  double penalty = 0.0;                     // of all of them, nats
};

// Nothing of a layer whose visibility is of another kind.
std::optional<AdaptiveSpan> adaptive_span_of(const ModelConfig& model, int64_t layer);

// Those of all layers that have one.
std::vector<AdaptiveSpan> adaptive_spans_of(const ModelConfig& model);

// Nothing of a model without such layers. Waits for the device of the parameters.
std::optional<LearnedSpans> learned_spans(const ModelConfig& model, Parameters& parameters);

}  // namespace segue
