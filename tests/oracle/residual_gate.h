// The gates of a gated block by their formulas (Parisotto et al. 2019, section 3.2), in plain loops, for one stream.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/block_kind.h"
#include "core/config/depth_kind.h"
#include "core/config/model_config.h"
#include "core/kinds/block/gated/options.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

inline bool is_gated(const ModelConfig& model) { return model.block.kind == BlockKind::kGated; }
inline bool is_reversible(const ModelConfig& model) { return model.block.kind == BlockKind::kReversible; }
inline bool shares_weights(const ModelConfig& model) { return model.depth.kind != DepthKind::kFixed; }
inline bool halts(const ModelConfig& model) { return model.depth.kind == DepthKind::kHalting; }
inline bool has_step_codes(const ModelConfig& model) { return shares_weights(model) && model.depth.step_codes; }
inline bool normalises_first(const ModelConfig& model) {
  return is_gated(model) || is_reversible(model) || model.block.pre_lnorm;
}

template <typename Scalar>
class ResidualGateOf {
 public:
  using Rows = std::vector<Scalar>;

  // `prefix` begins the names of the gate's weights.
  ResidualGateOf(const ModelConfig& model, const std::map<std::string, Rows>& weights, std::string prefix)
      : gate_(model.block.gate), width_(model.d_model), weights_(weights), prefix_(std::move(prefix)) {}

  // The residual x and a branch y, [T, D] both: [T, D].
  Rows output(const Rows& x, const Rows& y) const {
    Rows out(x.size());
    const auto each = [&](const auto& formula) {
      for (size_t e = 0; e < x.size(); ++e) out[e] = formula(e, static_cast<int64_t>(e) % width_);
    };
    if (gate_ == ResidualGate::kGru) {
      const Rows of_y = projected("w_r", y), of_x = projected("u_r", x);
      Rows reset(x.size());
      for (size_t e = 0; e < x.size(); ++e) reset[e] = share(of_y[e] + of_x[e]) * x[e];
      const Rows z_y = projected("w_z", y), z_x = projected("u_z", x);
      const Rows g_y = projected("w_g", y), g_x = projected("u_g", reset);
      each([&](size_t e, int64_t c) {
        const Scalar z = share(z_y[e] + z_x[e] - bias(c));
        return (1.0 - z) * x[e] + z * std::tanh(g_y[e] + g_x[e]);
      });
      return out;
    }
    const Rows w = projected("w", gate_ == ResidualGate::kSigmoidTanh ? y : x);
    const Rows u = gate_ == ResidualGate::kSigmoidTanh ? projected("u", y) : Rows();
    each([&](size_t e, int64_t c) -> Scalar {
      switch (gate_) {
        case ResidualGate::kGru:
        case ResidualGate::kHighway: {
          const Scalar kept = share(w[e] + bias(c));
          return kept * x[e] + (1.0 - kept) * y[e];
        }
        case ResidualGate::kSigmoidTanh:
          return x[e] + share(w[e] - bias(c)) * std::tanh(u[e]);
        case ResidualGate::kInput:
          return share(w[e]) * x[e] + y[e];
        case ResidualGate::kOutput:
          return x[e] + share(w[e] - bias(c)) * y[e];
      }
      return 0.0;
    });
    return out;
  }

 private:
  static Scalar share(Scalar logit) { return 1.0 / (1.0 + std::exp(-logit)); }
  Scalar bias(int64_t column) const { return weights_.at(prefix_ + "bias")[column]; }
  Rows projected(const char* name, const Rows& rows) const {
    return matmul({std::ssize(rows) / width_, width_, width_}, rows, false, weights_.at(prefix_ + name), true);
  }

  ResidualGate gate_;
  int64_t width_;
  const std::map<std::string, Rows>& weights_;
  std::string prefix_;
};

}  // namespace segue::oracle
