// What the door of kernels/lamb.h hands to its implementations: the scalars of a step, rounded once.
#pragma once

namespace segue::kernels {

// Of u = m / (sqrt(v) + epsilon) + weight_decay * p.
struct LambDirection {
  float epsilon;
  float weight_decay;
};

struct LambMomentScalars {
  float beta1, rest1;  // and 1 - beta1
  float beta2, rest2;
  LambDirection direction;
};

struct LambStepScalars {
  float learning_rate;
  LambDirection direction;
};

}  // namespace segue::kernels
