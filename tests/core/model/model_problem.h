// A small model with random weights and tokens, as Segue runs it and as the oracle sees it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/config/carried.h"
#include "core/engine/segment_engine.h"
#include "core/memory/memory.h"
#include "tests/core/model/model_variants.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/segments.h"

namespace segue {

// Of the gradients of such a model, in single precision.
inline kernels::Tolerance gradient_tolerance(const ModelConfig& model) {
  return hands_on_states(model) ? kernels::kStateGradient : kernels::kNetworkGradient;
}

// Far from where training starts, so that every parameter matters: biases are not zero, gains not one, and attention
// is not nearly uniform.
inline void draw_weights(Parameters& parameters) {
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    const double mean = spec.initializer == Initializer::kGain ? 1.0 : 0.0;
    const RandomSequence random{.seed = 7, .step = 0, .site = static_cast<uint16_t>(i)};
    OwnedTensor drawn(DType::kFloat32, spec.shape);
    for (int64_t e = 0; e < spec.shape.elements(); ++e) {
      const auto element = static_cast<uint64_t>(e);
      drawn.as<float>()[e] = static_cast<float>(spec.bounds ? random_uniform(random, element)
                                                            : mean + 0.3 * random_normal(random, element));
    }
    parameters.upload(parameters.values(), i, drawn.view());
  }
  parameters.refresh_compute_copy();
}

// [B, length]; different numbers for every `site`.
inline OwnedTensor draw_tokens(int64_t streams, int64_t length, int64_t vocabulary, uint16_t site) {
  OwnedTensor tokens(DType::kInt32, {streams, length});
  for (int64_t e = 0; e < streams * length; ++e) {
    const double share = random_uniform({.seed = 9, .step = 0, .site = site}, static_cast<uint64_t>(e));
    tokens.as<int32_t>()[e] = static_cast<int32_t>(share * static_cast<double>(vocabulary));
  }
  return tokens;
}

// Columns [begin, begin + count) of every stream.
inline OwnedTensor columns_of(const OwnedTensor& streams, int64_t begin, int64_t count) {
  const int64_t length = streams.shape()[1];
  OwnedTensor columns(DType::kInt32, {streams.shape()[0], count});
  for (int64_t b = 0; b < streams.shape()[0]; ++b)
    std::copy_n(streams.as<int32_t>() + b * length + begin, count, columns.as<int32_t>() + b * count);
  return columns;
}

// Nothing in here moves: the model's tapes refer to it.
struct ModelProblem {
  static constexpr int64_t kVocabulary = 23;

  ModelProblem(const ModelConfig& config, int64_t streams, int64_t length, const Compute& compute = {})
      : model(config, kVocabulary),
        parameters(model.parameter_specs(), compute),
        queue(compute.device, 2),
        arena(compute.device),
        tokens(draw_tokens(streams, length, kVocabulary, 1)),
        targets(draw_tokens(streams, length, kVocabulary, 2)) {
    draw_weights(parameters);
    for (int64_t e = 3; model.config().objective.is_masked() && e < streams * length; e += 7)
      tokens.as<int32_t>()[e] = static_cast<int32_t>(kVocabulary);  // the mask token
  }
  ModelProblem(const ModelProblem&) = delete;
  ModelProblem& operator=(const ModelProblem&) = delete;

  int64_t streams() const { return tokens.shape()[0]; }
  int64_t length() const { return tokens.shape()[1]; }

  ModelInUse in_use() { return {model, use_of(model.config()), parameters, arena, queue}; }
  SegmentEngine engine(Tape::Mode mode) { return {in_use(), mode}; }
  // Of the model's kind.
  std::unique_ptr<TrainingMemory> make_memory(int64_t streams, const Compute& compute = {}) const {
    return make_memory(use_of(model.config()), streams, compute);
  }
  std::unique_ptr<TrainingMemory> make_memory(const ModelUse& use, int64_t streams, const Compute& compute = {}) const {
    return make_training_memory(model.config(), use, streams, compute);
  }

  // Segment [begin, begin + tgt_len) of all streams; returns the losses [B, count], or [B, scored] of the newest
  // tokens.
  std::vector<float> run(SegmentEngine& engine, int64_t begin, int64_t tgt_len, Memory& memory,
                         const ReplayInfo& info = {}, int64_t scored = 0) const {
    const int64_t count = std::min(tgt_len, length() - begin);
    const OwnedTensor inputs = columns_of(tokens, begin, count);
    const int64_t wanted = scored == 0 ? count : scored;
    const OwnedTensor outputs = columns_of(targets, begin + count - wanted, wanted);
    const auto nll = engine.run({.tokens = inputs.view(), .targets = outputs.view(), .info = info}, memory).nll;
    return {nll.begin(), nll.end()};
  }

  oracle::StreamTokens stream_tokens(int64_t b) const {
    const int32_t* inputs = tokens.as<int32_t>() + b * length();
    const int32_t* outputs = targets.as<int32_t>() + b * length();
    return {{inputs, inputs + length()}, {outputs, outputs + length()}};
  }

  template <typename Scalar>
  oracle::TransformerXl<Scalar> oracle(const std::optional<oracle::StreamRandom>& random = {}) {
    typename oracle::TransformerXl<Scalar>::Weights weights;
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      weights[parameters.specs()[i].name] = kernels::oracle_values<Scalar>(parameters.part_of(parameters.values(), i));
    }
    return {model.config(), std::move(weights), random};
  }

  Transformer model;
  Parameters parameters;
  kernels::Queue queue;
  Arena arena;
  OwnedTensor tokens, targets;  // [B, length]
};

}  // namespace segue
