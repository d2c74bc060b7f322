// The attention of a layer that keeps a state, by its formulas, token after token.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "core/config/position_kind.h"
#include "tests/oracle/gate.h"
#include "tests/oracle/head_norm.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/rotary.h"
#include "tests/oracle/state_scan.h"

namespace segue::oracle {

template <typename Scalar>
class StateAttention {
 public:
  using Rows = std::vector<Scalar>;

  // `layer` has the layer's own axis objects; `prefix` begins the names of its weights.
  StateAttention(const ModelConfig& layer, const std::map<std::string, Rows>& weights, std::string prefix)
      : layer_(layer), weights_(weights), prefix_(std::move(prefix)) {}

  // x [T, D] -> [T, D]; `states` [N, K, V], and [S - 1, N*H] of each convolution behind it, are those before x, and
  // become those after it.
  Rows output(const Rows& x, Rows& states) const {
    const int64_t tokens = std::ssize(x) / layer_.d_model, heads = layer_.n_head, width = layer_.d_head;
    const bool averages = layer_.score.output_norm == StateNorm::kWeights;
    const int64_t values = averages ? width + 1 : width;
    const Rows q = turned(features(convolved("q", 0, x, states))), k = turned(features(convolved("k", 1, x, states)));
    const Rows v = with_ones(convolved("v", 2, x, states), values);
    const int64_t keys = std::ssize(q) / (tokens * heads);
    const Rows decays = log_decays(x, keys);
    const Rows strength = strengths(x, tokens * heads);
    Rows read(tokens * heads * width);
    for (int64_t n = 0; n < heads; ++n) {
      const auto of_head = [&](const Rows& rows, int64_t count) {
        Rows picked;
        for (int64_t t = 0; t < tokens; ++t) {
          const auto first = rows.begin() + (t * heads + n) * count;
          picked.insert(picked.end(), first, first + count);
        }
        return picked;
      };
      const auto first = states.begin() + n * keys * values;
      const StateScanResults<Scalar> scanned =
          state_scan<Scalar>({.t = static_cast<size_t>(tokens),
                              .k_width = static_cast<size_t>(keys),
                              .v_width = static_cast<size_t>(values),
                              .q = of_head(q, keys),
                              .k = of_head(k, keys),
                              .v = of_head(v, values),
                              .log_decay = of_head(decays, keys),
                              .beta = of_head(strength, 1),
                              .initial = Rows(first, first + keys * values),
                              .scale = averages ? 1.0 : 1.0 / std::sqrt(static_cast<double>(keys)),
                              .erases = layer_.score.erases});
      const Rows left = as_next_finds_it(scanned.last(), keys, tokens);
      std::copy(left.begin(), left.end(), first);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t i = 0; i < width; ++i) {
          const Scalar sum = scanned.output[t * values + i];
          read[(t * heads + n) * width + i] = averages ? sum / weight_of(scanned.output[t * values + width]) : sum;
        }
    }
    const Rows normed =
        head_norm<Scalar>({.feature = kernels::Feature::kIdentity,
                           .norm = averages ? kernels::HeadNorm::kNone : kernels::HeadNorm::kRootMeanSquare,
                           .epsilon = static_cast<double>(static_cast<float>(layer_.block.layer_norm_epsilon)),
                           .width = static_cast<size_t>(width),
                           .x = read,
                           .gain = averages ? Rows() : weight("norm"),
                           .gate = layer_.score.output_gate ? projected("gate", x) : Rows()});
    return matmul({tokens, layer_.d_model, heads * width}, normed, false, weight("output"), true);
  }

 private:
  const Rows& weight(const std::string& name) const { return weights_.at(prefix_ + name); }

  RotaryRows turn_of(int64_t head, int64_t position) const {
    return {.vectors = 1,
            .head = head,
            .heads = 1,
            .width = rotary_width(layer_),
            .base = layer_.position.rotary_base,
            .first_position = position,
            .scaling = layer_.position.rotary_scaling};
  }
  bool turns() const { return layer_.position.kind == PositionKind::kRope; }

  // Queries or keys [T, N, H].
  Rows turned(const Rows& rows) const {
    if (!turns()) return rows;
    RotaryRows turn = turn_of(layer_.d_head, 0);
    turn.vectors = turn.heads = layer_.n_head;
    return rotary(rows, turn);
  }

  // A state [K, V], column by column, as a segment finds it that begins so many tokens later.
  Rows as_next_finds_it(const Rows& state, int64_t keys, int64_t tokens) const {
    if (!turns()) return state;
    Rows later(state.size());
    const int64_t values = std::ssize(state) / keys;
    for (int64_t c = 0; c < values; ++c) {
      Rows column;
      for (int64_t i = 0; i < keys; ++i) column.push_back(state[i * values + c]);
      column = rotary(column, turn_of(keys, -tokens));
      for (int64_t i = 0; i < keys; ++i) later[i * values + c] = column[i];
    }
    return later;
  }

  // x · Wᵀ of a weight [out, in].
  Rows product(const Rows& x, int64_t in, const std::string& name) const {
    const Rows& w = weight(name);
    return matmul({std::ssize(x) / in, std::ssize(w) / in, in}, x, false, w, true);
  }
  Rows projected(const std::string& name, const Rows& x) const { return product(x, layer_.d_model, name); }

  // [T, N*H], over the tokens that convolution `number` has in the states and those before.
  Rows convolved(const std::string& name, int64_t number, const Rows& x, Rows& states) const {
    const Rows projections = projected(name, x);
    const int64_t taps = layer_.score.convolution, width = layer_.n_head * layer_.d_head;
    if (taps == 0) return projections;
    const int64_t tail = (taps - 1) * width;
    const auto first = states.end() - (3 - number) * tail;
    Rows inputs(first, first + tail);
    inputs.insert(inputs.end(), projections.begin(), projections.end());
    const Rows& weights = weight("convolution." + name);
    Rows y(projections.size());
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      for (int64_t j = 0; j < taps; ++j) y[i] += weights[i % width * taps + j] * inputs[i + j * width];
      y[i] = y[i] / (1.0 + std::exp(-y[i]));
    }
    std::copy(inputs.end() - tail, inputs.end(), first);
    return y;
  }

  // A column of ones behind each head's, where a sum of weights is wanted.
  Rows with_ones(const Rows& v, int64_t values) const {
    Rows all;
    for (auto head = v.begin(); head != v.end(); head += layer_.d_head) {
      all.insert(all.end(), head, head + layer_.d_head);
      all.resize(all.size() + values - layer_.d_head, Scalar(1.0));
    }
    return all;
  }

  // What divides in place of a sum of weights.
  Scalar weight_of(Scalar sum) const {
    const double of_waves = layer_.score.strength == StateStrength::kRest ? 1e-3 : 1e-2;
    const double floor = layer_.score.feature == StateFeature::kRandomFourier ? of_waves : 1e-30;
    if (std::abs(std::real(sum)) >= floor) return sum;
    return Scalar(std::real(sum) < 0.0 ? -floor : floor);
  }

  // [T, N*K]
  Rows features(const Rows& x) const {
    switch (layer_.score.feature) {
      case StateFeature::kSilu:
        return normed(kernels::Feature::kSilu, layer_.d_head, x, {});
      case StateFeature::kRelu:
        return normed(kernels::Feature::kRelu, layer_.d_head, x, {});
      case StateFeature::kEluPlusOne:
        return normed(kernels::Feature::kEluPlusOne, layer_.d_head, x, {});
      case StateFeature::kIdentity:
        return normed(kernels::Feature::kIdentity, layer_.d_head, x, {});
      case StateFeature::kDpfp:
        return normed(kernels::Feature::kIdentity, 2 * layer_.d_head * layer_.score.shifts, products(x), {});
      case StateFeature::kPerformer:
        return exponentials(normed(kernels::Feature::kIdentity, layer_.d_head, x, {}));
      case StateFeature::kRandomFourier:
        break;
    }
    return waves(normed(kernels::Feature::kIdentity, layer_.d_head, x, weight("feature_gain")));
  }

  Rows normed(kernels::Feature activation, int64_t width, const Rows& x, const Rows& gain) const {
    return head_norm<Scalar>({.feature = activation,
                              .norm = layer_.score.unit_keys ? kernels::HeadNorm::kUnit : kernels::HeadNorm::kNone,
                              .epsilon = static_cast<double>(1e-6F),
                              .width = static_cast<size_t>(width),
                              .x = x,
                              .gain = gain,
                              .gate = {}});
  }

  Rows products(const Rows& x) const {
    const int64_t width = layer_.d_head;
    Rows all;
    for (auto row = x.begin(); row != x.end(); row += width) {
      Rows both;
      for (const double sign : {1.0, -1.0}) {
        for (int64_t i = 0; i < width; ++i) both.push_back(std::real(row[i]) * sign > 0.0 ? row[i] * sign : Scalar());
      }
      for (int64_t shift = 1; shift <= layer_.score.shifts; ++shift)
        for (int64_t i = 0; i < 2 * width; ++i) all.push_back(both[i] * both[(i - shift + 2 * width) % (2 * width)]);
    }
    return all;
  }

  Rows exponentials(const Rows& x) const {
    const int64_t width = layer_.d_head;
    const double scale = std::pow(static_cast<double>(width), -0.25);
    Rows all;
    for (auto row = x.begin(); row != x.end(); row += width) {
      Scalar square{};
      for (int64_t i = 0; i < width; ++i) square += row[i] * row[i];
      for (const Scalar& along : product(Rows(row, row + width), width, "directions"))
        all.push_back(std::exp(scale * along - 0.5 * scale * scale * square));
    }
    return all;
  }

  Rows waves(const Rows& x) const {
    const int64_t width = layer_.d_head;
    Rows all;
    for (auto row = x.begin(); row != x.end(); row += width) {
      const Rows along = product(Rows(row, row + width), width, "directions");
      const double root = std::sqrt(static_cast<double>(along.size()));
      for (const Scalar& p : along) all.push_back(std::sin(p) / root);
      for (const Scalar& p : along) all.push_back(std::cos(p) / root);
    }
    return all;
  }

  // [T, N], of which there are so many
  Rows strengths(const Rows& x, int64_t count) const {
    switch (layer_.score.strength) {
      case StateStrength::kShare:
        return gates(GateFormula::kShare, projected("strength", x), weight("strength_bias"), {});
      case StateStrength::kStep:
        return gates(GateFormula::kStep, projected("decay", x), weight("decay_bias"), {});
      case StateStrength::kRest:
        return gates(GateFormula::kRest, projected("decay", x), weight("decay_bias"), weight("decay_rate"));
      case StateStrength::kFull:
        break;
    }
    return Rows(count, 1.0);
  }

  // [T, N, K]
  Rows log_decays(const Rows& x, int64_t width) const {
    const int64_t tokens = std::ssize(x) / layer_.d_model, heads = layer_.n_head;
    if (layer_.score.decay == StateDecay::kChannel) {
      const Rows low = projected("decay_down", x);
      return gates(GateFormula::kDecay, product(low, std::ssize(low) / tokens, "decay"), weight("decay_bias"),
                   weight("decay_rate"));
    }
    Rows of_heads(tokens * heads);
    if (layer_.score.decay == StateDecay::kToken)
      of_heads = gates(GateFormula::kDecay, projected("decay", x), weight("decay_bias"), weight("decay_rate"));
    Rows decays;
    for (int64_t i = 0; i < tokens * heads; ++i) {
      const double fixed = std::log(1.0 - std::pow(2.0, -5.0 - static_cast<double>(i % heads)));
      const Scalar decay = layer_.score.decay == StateDecay::kFixed ? Scalar(fixed) : of_heads[i];
      decays.insert(decays.end(), width, decay);
    }
    return decays;
  }

  const ModelConfig& layer_;
  const std::map<std::string, Rows>& weights_;
  std::string prefix_;
};

}  // namespace segue::oracle
