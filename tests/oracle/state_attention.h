// The attention of a layer that keeps a state, by its formulas, token after token.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "tests/oracle/gate.h"
#include "tests/oracle/head_norm.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/state_scan.h"

namespace segue::oracle {

template <typename Scalar>
class StateAttention {
 public:
  using Rows = std::vector<Scalar>;

  // `layer` has the layer's own axis objects; `prefix` begins the names of its weights.
  StateAttention(const ModelConfig& layer, const std::map<std::string, Rows>& weights, std::string prefix)
      : layer_(layer), weights_(weights), prefix_(std::move(prefix)) {}

  // x [T, D] -> [T, D]; `state` [N, H, H] is that before x, and becomes that after it.
  Rows output(const Rows& x, Rows& state) const {
    const Rows q = feature(projected("q", x)), k = feature(projected("k", x)), v = projected("v", x);
    const Rows decays = log_decays(x);
    const int64_t tokens = std::ssize(x) / layer_.d_model, heads = layer_.n_head, width = layer_.d_head;
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
      const auto first = state.begin() + n * width * width;
      const StateScanResults<Scalar> scanned = state_scan<Scalar>({.t = static_cast<size_t>(tokens),
                                                                   .k_width = static_cast<size_t>(width),
                                                                   .v_width = static_cast<size_t>(width),
                                                                   .q = of_head(q, width),
                                                                   .k = of_head(k, width),
                                                                   .v = of_head(v, width),
                                                                   .log_decay = of_head(decays, width),
                                                                   .beta = of_head(strength, 1),
                                                                   .initial = Rows(first, first + width * width),
                                                                   .scale = 1.0 / std::sqrt(static_cast<double>(width)),
                                                                   .erases = layer_.score.erases});
      std::copy(scanned.last().begin(), scanned.last().end(), first);
      for (int64_t t = 0; t < tokens; ++t)
        std::copy_n(scanned.output.begin() + t * width, width, read.begin() + (t * heads + n) * width);
    }
    const Rows normed =
        head_norm<Scalar>({.feature = kernels::Feature::kIdentity,
                           .norm = kernels::HeadNorm::kRootMeanSquare,
                           .epsilon = static_cast<double>(static_cast<float>(layer_.block.layer_norm_epsilon)),
                           .width = static_cast<size_t>(width),
                           .x = read,
                           .gain = weight("norm"),
                           .gate = layer_.score.output_gate ? projected("gate", x) : Rows()});
    return matmul({tokens, layer_.d_model, heads * width}, normed, false, weight("output"), true);
  }

 private:
  const Rows& weight(const std::string& name) const { return weights_.at(prefix_ + name); }

  // x · Wᵀ of a weight [out, in].
  Rows product(const Rows& x, int64_t in, const std::string& name) const {
    const Rows& w = weight(name);
    return matmul({std::ssize(x) / in, std::ssize(w) / in, in}, x, false, w, true);
  }
  Rows projected(const std::string& name, const Rows& x) const { return product(x, layer_.d_model, name); }

  Rows feature(const Rows& x) const {
    const auto kind = [this] {
      switch (layer_.score.feature) {
        case StateFeature::kSilu:
          return kernels::Feature::kSilu;
        case StateFeature::kRelu:
          return kernels::Feature::kRelu;
        case StateFeature::kEluPlusOne:
          return kernels::Feature::kEluPlusOne;
        case StateFeature::kIdentity:
          break;
      }
      return kernels::Feature::kIdentity;
    };
    return head_norm<Scalar>({.feature = kind(),
                              .norm = layer_.score.unit_keys ? kernels::HeadNorm::kUnit : kernels::HeadNorm::kNone,
                              .epsilon = static_cast<double>(1e-6F),
                              .width = static_cast<size_t>(layer_.d_head),
                              .x = x,
                              .gain = {},
                              .gate = {}});
  }

  // [T, N], of which there are so many
  Rows strengths(const Rows& x, int64_t count) const {
    switch (layer_.score.strength) {
      case StateStrength::kShare:
        return gates(GateFormula::kShare, projected("strength", x), weight("strength_bias"), {});
      case StateStrength::kStep:
        return gates(GateFormula::kStep, projected("decay", x), weight("decay_bias"), {});
      case StateStrength::kFull:
        break;
    }
    return Rows(count, 1.0);
  }

  // [T, N, H]
  Rows log_decays(const Rows& x) const {
    const int64_t tokens = std::ssize(x) / layer_.d_model, heads = layer_.n_head, width = layer_.d_head;
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
