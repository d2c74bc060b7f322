// Gates of a state, from what a projection says of a token: how strongly it writes, how much of the state it keeps.
//
// With s(x) = 1 / (1 + e^-x):
//   kShare   g = s(x + bias): between 0 and 1
//            dx = dg g (1 - g)
//   kStep    g = log(1 + e^(x + bias)): how long a token lasts, as it were (Dao and Gu 2024, Mamba-2)
//            dx = dg s(x + bias)
//   kDecay   g = -e^rate times such a step: the logarithm of a decay between 0 and 1 (the same; with rate = -log 16
//            and the sign of x turned, Yang et al. 2024, gated linear attention)
//            dx = -dg e^rate s(x + bias);  drate[c] += sum over rows of dg g
//   kRest    g = 1 - e^d of such a decay d: what it leaves (Peng et al. 2021, gated random feature attention)
//            dx = dg e^(d + rate) s(x + bias);  drate[c] += sum over rows of -dg e^d d
//   all      dbias[c] += sum over rows of dx
//
// A rate above 64 counts as 64, so that every result is finite. Gates are float32, since e^g is taken of decays again
// and again. Deterministic, also over thread counts. A: the dtype of activations, float32 or bfloat16.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

enum class GateFormula : uint8_t { kShare, kStep, kDecay, kRest };

constexpr bool has_rate(GateFormula formula) { return formula == GateFormula::kDecay || formula == GateFormula::kRest; }

inline constexpr float kLargestRate = 64.0F;

struct GateForward {
  GateFormula formula;
  ConstTensorView x;     // [R, C] A in
  ConstTensorView bias;  // [C] float32 in
  ConstTensorView rate;  // [C] float32 in; empty where the formula has none
  TensorView gates;      // [R, C] float32 out, overwritten
};
void gate_forward(Queue& queue, const GateForward& args);

struct GateBackward {
  GateFormula formula;
  ConstTensorView x;  // as in the forward
  ConstTensorView bias;
  ConstTensorView rate;
  ConstTensorView dgates;  // [R, C] float32 in
  TensorView dx;           // [R, C] A out, overwritten; not x
  TensorView dbias;        // [C] float32 inout, accumulated
  TensorView drate;        // [C] float32 inout, accumulated; empty where rate is
};
void gate_backward(Queue& queue, const GateBackward& args);

}  // namespace segue::kernels
