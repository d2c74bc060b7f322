// Project, scan, norm each head, project back (the layer of Yang et al. 2024, arXiv:2412.06464, without convolution).
#include "core/attention/state_attention.h"

#include <cmath>

#include "core/config/layers.h"
#include "core/tape/operations.h"

namespace segue {

namespace {

constexpr int64_t kDecayRank = 16;  // of what says a decay for each channel, as in gated linear attention

// What begins as this many tokens' worth of decay, from the first head to the last: as in Mamba-2, 1/10 to 1/1,000.
constexpr double kFastest = 0.1;
constexpr double kSlowest = 0.001;

std::vector<float> decay_biases(int64_t heads) {
  std::vector<float> biases;
  for (int64_t n = 0; n < heads; ++n) {
    const double share = heads == 1 ? 0.5 : static_cast<double>(n) / static_cast<double>(heads - 1);
    const double step = kFastest * std::pow(kSlowest / kFastest, share);
    biases.push_back(static_cast<float>(std::log(std::expm1(step))));  // log(1 + e^bias) is the step
  }
  return biases;
}

// log(1 - 2^(-5 - n)) of head n.
OwnedTensor fixed_decays(int64_t heads) {
  OwnedTensor decays(DType::kFloat32, {heads});
  for (int64_t n = 0; n < heads; ++n)
    decays.as<float>()[n] = static_cast<float>(std::log1p(-std::exp2(-5.0 - static_cast<double>(n))));
  return decays;
}

kernels::Feature kernel_feature(StateFeature feature) {
  switch (feature) {
    case StateFeature::kSilu:
      return kernels::Feature::kSilu;
    case StateFeature::kIdentity:
      return kernels::Feature::kIdentity;
    case StateFeature::kRelu:
      return kernels::Feature::kRelu;
    case StateFeature::kEluPlusOne:
      return kernels::Feature::kEluPlusOne;
  }
  throw ContractError("unknown feature of states");
}

}  // namespace

StateAttention::StateAttention(const ModelConfig& model, const LayerName& layer)
    : score_(score_of_layer(model, layer.number)),
      heads_{model.n_head, model.d_head},
      d_model_(model.d_model),
      norm_epsilon_(static_cast<float>(model.block.layer_norm_epsilon)),
      prefix_(layer.prefix + "attention.") {}

void StateAttention::declare(std::vector<ParameterSpec>& specs) const {
  const int64_t width = heads_.elements();
  for (const char* name : {"q", "k", "v"}) specs.push_back({prefix_ + name, {width, d_model_}});
  if (score_.decay == StateDecay::kToken) {
    specs.push_back({prefix_ + "decay", {heads_[0], d_model_}});
    specs.push_back({.name = prefix_ + "decay_bias",
                     .shape = {heads_[0]},
                     .initializer = Initializer::kConstant,
                     .constants = decay_biases(heads_[0])});
    specs.push_back({prefix_ + "decay_rate", {heads_[0]}, Initializer::kZero});
  }
  if (score_.decay == StateDecay::kChannel) {
    specs.push_back({prefix_ + "decay_down", {kDecayRank, d_model_}});
    specs.push_back({prefix_ + "decay", {width, kDecayRank}});
    specs.push_back({prefix_ + "decay_bias", {width}, Initializer::kZero});
    specs.push_back({.name = prefix_ + "decay_rate",
                     .shape = {width},
                     .initializer = Initializer::kConstant,
                     .constant = -std::log(16.0F)});
  }
  if (score_.strength == StateStrength::kShare) {
    specs.push_back({prefix_ + "strength", {heads_[0], d_model_}});
    specs.push_back({prefix_ + "strength_bias", {heads_[0]}, Initializer::kZero});
  }
  if (score_.output_gate) specs.push_back({prefix_ + "gate", {width, d_model_}});
  specs.push_back({prefix_ + "norm", {heads_[1]}, Initializer::kGain});
  specs.push_back({prefix_ + "output", {d_model_, width}});
}

// Of queries or keys.
Value StateAttention::feature_of(Tape& tape, const Value& x) const {
  if (score_.feature == StateFeature::kIdentity && !score_.unit_keys) return x;
  return head_norm(tape, x,
                   {.feature = kernel_feature(score_.feature),
                    .norm = score_.unit_keys ? kernels::HeadNorm::kUnit : kernels::HeadNorm::kNone,
                    .width = heads_[1]});
}

Value StateAttention::log_decay(Tape& tape, Parameters& parameters, const Value& x) const {
  if (score_.decay == StateDecay::kFixed)
    return {.data = tape.constant(fixed_decays(heads_[0]), DType::kFloat32), .gradient = {}};
  if (score_.decay == StateDecay::kNone) return {};
  const bool is_by_channel = score_.decay == StateDecay::kChannel;
  const Value from = is_by_channel ? linear(tape, x, parameters[prefix_ + "decay_down"]) : x;
  return gate(tape, linear(tape, from, parameters[prefix_ + "decay"]),
              {.formula = kernels::GateFormula::kDecay,
               .bias = parameters[prefix_ + "decay_bias"],
               .rate = parameters[prefix_ + "decay_rate"]});
}

Value StateAttention::strength(Tape& tape, Parameters& parameters, const Value& x) const {
  switch (score_.strength) {
    case StateStrength::kShare:
      return gate(tape, linear(tape, x, parameters[prefix_ + "strength"]),
                  {.formula = kernels::GateFormula::kShare, .bias = parameters[prefix_ + "strength_bias"]});
    case StateStrength::kStep:
      // A product of N columns twice costs less than a gradient that two gates add to.
      return gate(tape, linear(tape, x, parameters[prefix_ + "decay"]),
                  {.formula = kernels::GateFormula::kStep, .bias = parameters[prefix_ + "decay_bias"]});
    case StateStrength::kFull:
      return {};
  }
  throw ContractError("unknown strength of states");
}

StateAttention::Recorded StateAttention::record(Tape& tape, Parameters& parameters, const Value& x, const Value& state,
                                                bool is_read_on) const {
  const auto projected = [&](const char* name) { return linear(tape, x, parameters[prefix_ + name]); };
  const StateScanOperation scan{.heads = heads_,
                                .q = feature_of(tape, projected("q")),
                                .k = feature_of(tape, projected("k")),
                                .v = projected("v"),
                                .log_decay = log_decay(tape, parameters, x),
                                .strength = strength(tape, parameters, x),
                                .initial = state,
                                .scale = 1.0F / std::sqrt(static_cast<float>(heads_[1])),
                                .erases = score_.erases,
                                .is_read_on = is_read_on};
  const Value gates = score_.output_gate ? projected("gate") : Value();
  const ScannedState scanned = state_scan(tape, scan);
  const Value read = head_norm(tape, scanned.output,
                               {.norm = kernels::HeadNorm::kRootMeanSquare,
                                .epsilon = norm_epsilon_,
                                .width = heads_[1],
                                .gain = parameters[prefix_ + "norm"],
                                .gate = gates});
  return {.output = linear(tape, read, parameters[prefix_ + "output"]), .state = scanned.state};
}

}  // namespace segue
