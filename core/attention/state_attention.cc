// Project, convolve, scan, norm each head, project back (the layer of Yang et al. 2024, arXiv:2412.06464).
#include "core/attention/state_attention.h"

#include <cmath>

#include "core/config/carried.h"
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

// What a row of a head passes before its norm: those that are not of its columns alone are mapped.
kernels::Feature activation_of(StateFeature feature) {
  switch (feature) {
    case StateFeature::kSilu:
      return kernels::Feature::kSilu;
    case StateFeature::kIdentity:
    case StateFeature::kDpfp:
    case StateFeature::kPerformer:
    case StateFeature::kRandomFourier:
      return kernels::Feature::kIdentity;
    case StateFeature::kRelu:
      return kernels::Feature::kRelu;
    case StateFeature::kEluPlusOne:
      return kernels::Feature::kEluPlusOne;
  }
  throw ContractError("unknown feature of states");
}

// What divides in place of a smaller sum of weights. Sines and cosines only estimate weights, so that a sum may be near
// 0 or below it by chance; a token counts for 1, or for what slow heads' decay leaves. Other features are not below 0.
float least_weight(const ScoreConfig& score) {
  if (score.feature != StateFeature::kRandomFourier) return 1e-30F;
  return score.strength == StateStrength::kRest ? 1e-3F : 1e-2F;
}

}  // namespace

StateAttention::StateAttention(const ModelConfig& model, const LayerName& layer)
    : score_(score_of_layer(model, layer.number)),
      heads_{model.n_head, model.d_head},
      state_(carried_tensors(model, layer.number).front().shape),
      d_model_(model.d_model),
      rotary_width_(rotary_width_of_layer(model, layer.number)),
      scale_(score_.output_norm == StateNorm::kWeights ? 1.0F : 1.0F / std::sqrt(static_cast<float>(state_[1]))),
      norm_epsilon_(static_cast<float>(model.block.layer_norm_epsilon)),
      prefix_(layer.prefix + "attention.") {}

void StateAttention::declare(std::vector<ParameterSpec>& specs) const {
  const int64_t width = heads_.elements();
  for (const char* name : {"q", "k", "v"}) specs.push_back({prefix_ + name, {width, d_model_}});
  if (score_.convolution > 0) {
    for (const char* name : {"q", "k", "v"})
      specs.push_back({prefix_ + "convolution." + name, {width, score_.convolution}, Initializer::kTaps});
  }
  if (is_random(score_.feature))
    specs.push_back({prefix_ + "directions", {score_.random_features, heads_[1]}, Initializer::kDirections});
  if (score_.feature == StateFeature::kRandomFourier)
    specs.push_back({.name = prefix_ + "feature_gain",
                     .shape = {heads_[1]},
                     .initializer = Initializer::kConstant,
                     .constant = 1.0F});
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
    const int64_t channels = state_[0] * state_[1];
    specs.push_back({prefix_ + "decay", {channels, kDecayRank}});
    specs.push_back({prefix_ + "decay_bias", {channels}, Initializer::kZero});
    specs.push_back({.name = prefix_ + "decay_rate",
                     .shape = {channels},
                     .initializer = Initializer::kConstant,
                     .constant = -std::log(16.0F)});
  }
  if (score_.strength == StateStrength::kShare) {
    specs.push_back({prefix_ + "strength", {heads_[0], d_model_}});
    specs.push_back({prefix_ + "strength_bias", {heads_[0]}, Initializer::kZero});
  }
  if (score_.output_gate) specs.push_back({prefix_ + "gate", {width, d_model_}});
  if (score_.output_norm == StateNorm::kHead) specs.push_back({prefix_ + "norm", {heads_[1]}, Initializer::kGain});
  specs.push_back({prefix_ + "output", {d_model_, width}});
}

// Of queries or keys [B, T, N*H]: [B, T, N*K].
Value StateAttention::feature_of(Tape& tape, Parameters& parameters, const Value& x) const {
  const Shape segment = tape.shape(x.data);
  const auto in_rows = [&](const Value& rows, int64_t width) {
    return reshaped(tape, rows, {segment[0], segment[1] * heads_[0], width});
  };
  const auto in_heads = [&](const Value& rows) {
    return reshaped(tape, rows, {segment[0], segment[1], state_[0] * state_[1]});
  };
  const auto normed = [&](const Value& rows, int64_t width, const Parameter& gain) {
    if (!score_.unit_keys && gain.value.empty() && activation_of(score_.feature) == kernels::Feature::kIdentity)
      return rows;
    return head_norm(tape, rows,
                     {.feature = activation_of(score_.feature),
                      .norm = score_.unit_keys ? kernels::HeadNorm::kUnit : kernels::HeadNorm::kNone,
                      .width = width,
                      .gain = gain});
  };
  switch (score_.feature) {
    case StateFeature::kDpfp: {
      const Value products = feature_map(tape, in_rows(x, heads_[1]),
                                         {.formula = kernels::FeatureFormula::kProducts, .shifts = score_.shifts});
      return normed(in_heads(products), state_[1], {});
    }
    case StateFeature::kPerformer: {
      // Softmax attention divides q · k by sqrt(H): each of them by its root.
      const Value rows = in_rows(normed(x, heads_[1], {}), heads_[1]);
      return in_heads(feature_map(tape, rows,
                                  {.formula = kernels::FeatureFormula::kExponential,
                                   .scale = std::pow(static_cast<float>(heads_[1]), -0.25F),
                                   .projections = projections_of(tape, parameters, rows)}));
    }
    case StateFeature::kRandomFourier: {
      const Value rows = in_rows(normed(x, heads_[1], parameters[prefix_ + "feature_gain"]), heads_[1]);
      return in_heads(feature_map(
          tape, rows,
          {.formula = kernels::FeatureFormula::kWave, .projections = projections_of(tape, parameters, rows)}));
    }
    case StateFeature::kSilu:
    case StateFeature::kIdentity:
    case StateFeature::kRelu:
    case StateFeature::kEluPlusOne:
      return normed(x, heads_[1], {});
  }
  throw ContractError("unknown feature of states");
}

// Of rows [B, R, H] on the layer's random directions: [B, R, M].
Value StateAttention::projections_of(Tape& tape, Parameters& parameters, const Value& rows) const {
  return linear(tape, rows, parameters[prefix_ + "directions"].constant());
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
    case StateStrength::kRest:
      return gate(tape, linear(tape, x, parameters[prefix_ + "decay"]),
                  {.formula = kernels::GateFormula::kRest,
                   .bias = parameters[prefix_ + "decay_bias"],
                   .rate = parameters[prefix_ + "decay_rate"]});
    case StateStrength::kFull:
      return {};
  }
  throw ContractError("unknown strength of states");
}

kernels::RotaryTurn StateAttention::turn_of(const ModelUse& use, int64_t position) const {
  return {.first_position = position,
          .heads = heads_[0],
          .width = rotary_width_,
          .base = use.rotary_base,
          .scaling = use.rotary_scaling};
}

Mixer::Mixed StateAttention::mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const {
  const LayerMemory& memory = inputs.memory;
  Mixed mixed{.output = {}, .states = {{}}};
  const auto projected = [&](const char* name) { return linear(tape, x, parameters[prefix_ + name]); };
  const auto convolved = [&](const char* name) {
    if (score_.convolution == 0) return projected(name);
    const Convolved made = short_convolution(tape, projected(name),
                                             {.taps = parameters[prefix_ + "convolution." + name],
                                              .before = memory.states[mixed.states.size()],
                                              .is_read_on = inputs.is_read_on});
    mixed.states.push_back(made.after);
    return made.output;
  };
  const auto turned = [&](const Value& rows) {
    return rotary_width_ > 0 ? rotary(tape, rows, state_[1], turn_of(inputs.use, 0)) : rows;
  };
  const Value q = convolved("q"), k = convolved("k"), v = convolved("v");
  const ScannedState scanned = state_scan(tape, {.state = state_,
                                                 .q = turned(feature_of(tape, parameters, q)),
                                                 .k = turned(feature_of(tape, parameters, k)),
                                                 .v = with_weights(tape, v),
                                                 .log_decay = log_decay(tape, parameters, x),
                                                 .strength = strength(tape, parameters, x),
                                                 .initial = memory.states.front(),
                                                 .scale = scale_,
                                                 .erases = score_.erases,
                                                 .is_read_on = inputs.is_read_on});
  const bool begins_anew = rotary_width_ > 0 && memory.form != Remembered::kKvCache;
  const int64_t tokens = tape.shape(x.data)[1];
  mixed.states.front() = begins_anew ? state_turn(tape, scanned.state, turn_of(inputs.use, -tokens)) : scanned.state;
  const Value gates = score_.output_gate ? projected("gate") : Value();
  mixed.output = linear(tape, normed(tape, parameters, scanned.output, gates), parameters[prefix_ + "output"]);
  return mixed;
}

// Values [B, T, N*H], of which each head's have a column of ones where their weights are summed: [B, T, N*V].
Value StateAttention::with_weights(Tape& tape, const Value& v) const {
  if (score_.output_norm == StateNorm::kHead) return v;
  const Shape segment = tape.shape(v.data);
  const Value rows = reshaped(tape, v, {segment[0], segment[1] * heads_[0], heads_[1]});
  return reshaped(tape, feature_map(tape, rows, {.formula = kernels::FeatureFormula::kWithOne}),
                  {segment[0], segment[1], state_[0] * state_[2]});
}

// What heads read [B, T, N*V], by their norm and gates [B, T, N*H], if any: [B, T, N*H].
Value StateAttention::normed(Tape& tape, Parameters& parameters, const Value& read, const Value& gates) const {
  HeadNormOperation norm{.epsilon = norm_epsilon_, .width = heads_[1], .gate = gates};
  if (score_.output_norm == StateNorm::kHead) {
    norm.norm = kernels::HeadNorm::kRootMeanSquare;
    norm.gain = parameters[prefix_ + "norm"];
    return head_norm(tape, read, norm);
  }
  const Shape segment = tape.shape(read.data);
  const Value sums = reshaped(tape, read, {segment[0], segment[1] * heads_[0], state_[2]});
  const Value average =
      reshaped(tape, weighted_average(tape, sums, least_weight(score_)), {segment[0], segment[1], heads_.elements()});
  return gates.data.exists() ? head_norm(tape, average, norm) : average;
}

}  // namespace segue
