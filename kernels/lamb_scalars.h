// The device's input from kernels/lamb.cc: the arguments, checked, and the scalars of a step, rounded once.
#pragma once

#include "kernels/lamb.h"

namespace segue::kernels {

// The constants of u = m / (sqrt(v) + epsilon) + weight_decay * p.
struct LambDirection {
  float epsilon;
  float weight_decay;
};

struct LambMomentScalars {
  float beta1, rest1;  // and 1 - beta1
  float beta2, rest2;
  LambDirection direction;
};

struct ScaledLambMoments {
  const LambMoments& args;
  LambMomentScalars scalars;
};

struct LambStepScalars {
  float learning_rate;
  LambDirection direction;
};

struct ScaledLambStep {
  const LambStep& args;
  LambStepScalars scalars;
};

}  // namespace segue::kernels
