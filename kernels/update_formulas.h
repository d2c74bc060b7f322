// The device's input from kernels/optimizer_step.cc: the tensors, checked, and the scalars of a step, derived in double
// and rounded once.
#pragma once

#include <array>

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

struct UpdatedBlock {
  const ParameterUpdate& update;
  std::array<TensorView, 2> moments;  // the first kMoments of them
};

template <typename Formula>
struct FormulaUpdate {
  UpdatedBlock block;
  Formula formula;
};
using AdamUpdate = FormulaUpdate<AdamFormula>;
using AdagradUpdate = FormulaUpdate<AdagradFormula>;
using MomentumUpdate = FormulaUpdate<MomentumFormula>;
using SgdUpdate = FormulaUpdate<SgdFormula>;

}  // namespace segue::kernels
