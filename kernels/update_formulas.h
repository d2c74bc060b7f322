// The formulas by which kernels/optimizer_step.h updates each element by itself, for processors and for GPUs, with the
// scalars of a step, derived in double and rounded once; and the device's input from kernels/optimizer_step.cc.
#pragma once

#include <array>
#include <cmath>
#include <variant>

#include "kernels/optimizer_step.h"

namespace segue::kernels {

// kMoments: how many tensors a formula keeps from step to step.
struct AdamFormula {
  static constexpr const char* kName = "adam_step";
  static constexpr int kMoments = 2;
  float beta1, rest1;  // and 1 - beta1
  float beta2, rest2;
  float decay;       // 1 - lr * weight_decay
  float rate;        // lr / (1 - beta1^t)
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

struct AdagradFormula {
  static constexpr const char* kName = "adagrad_step";
  static constexpr int kMoments = 1;
  float rate;
  float epsilon;
};

struct SgdFormula {
  static constexpr const char* kName = "sgd_step";
  static constexpr int kMoments = 0;
  float rate;
};

struct MomentumFormula {
  static constexpr const char* kName = "momentum_step";
  static constexpr int kMoments = 1;
  float rate;
  float momentum;
};

// Each updates the moments of an element, of which it has kMoments, given its gradient, and returns the parameter. FMA
// is written out: what a compiler would fuse could differ between the levels of processors, and with it the weights of
// ranks on unlike ones. `Source` is as in kernels/curve_formulas.h.
template <typename Source>
constexpr float updated(const AdamFormula& k, float p, float g, float& m, float& v) {
  m = std::fma(k.rest1, g, k.beta1 * m);
  v = std::fma(k.rest2 * g, g, k.beta2 * v);
  return std::fma(p, k.decay, -(k.rate * m / std::fma(std::sqrt(v), k.root_scale, k.epsilon)));
}

template <typename Source>
constexpr float updated(const AdagradFormula& k, float p, float g, float& s, float& /*none*/) {
  s = std::fma(g, g, s);
  return p - k.rate * g / (std::sqrt(s) + k.epsilon);
}

template <typename Source>
constexpr float updated(const SgdFormula& k, float p, float g, float& /*none*/, float& /*none*/) {
  return std::fma(-k.rate, g, p);
}

template <typename Source>
constexpr float updated(const MomentumFormula& k, float p, float g, float& b, float& /*none*/) {
  b = std::fma(k.momentum, b, g);
  return std::fma(-k.rate, b, p);
}

struct ElementUpdate {
  const ParameterUpdate& update;
  std::array<TensorView, 2> moments;  // the first kMoments of them
  std::variant<AdagradFormula, AdamFormula, MomentumFormula, SgdFormula> formula;
};

}  // namespace segue::kernels
