// Rotary positions (Su et al. 2021, arXiv:2104.09864): pairs of neighbouring columns, turned by angles that grow with
// the position of their row, so that products of two turned vectors know the distance between their rows alone.
//
// forward   row i of every stream stands at position p = first_position + i. Of each of its first `heads` vectors, and
//           for every pair j < width / 2 of columns, with the angle a = p / scaling * base^(-2j / width):
//           y[2j]     = x[2j] * cos(a) - x[2j + 1] * sin(a)
//           y[2j + 1] = x[2j] * sin(a) + x[2j + 1] * cos(a)
//           Columns from `width` on, and all other vectors, are copied.
// backward  dx is dy turned by -a; nothing is saved.
//
// Angles are reduced in float64 and lose nothing of p: at position 2^30 they are right to 1e-5. Position 0 changes
// nothing. Deterministic. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxRotaryWidth = 256;
constexpr int64_t kFarthestRotaryPosition = int64_t{1} << 52;  // of the first row, either way

struct RotaryTurn {
  int64_t first_position = 0;
  int64_t heads = 0;  // of G that are turned: the first ones
  int64_t width = 0;  // columns of each that are turned: an even number of the first ones
  double base = 10000.0;
  double scaling = 1.0;  // by which positions are divided (Chen et al. 2023, arXiv:2306.15595)
};

struct RotaryForward {
  ConstTensorView x;  // [B, R, G, H] A in
  RotaryTurn turn;
  TensorView y;  // [B, R, G, H] A out; may be x itself
};
void rotary_forward(Queue& queue, const RotaryForward& args);

struct RotaryBackward {
  ConstTensorView dy;  // [B, R, G, H] A in
  RotaryTurn turn;     // as in the forward
  TensorView dx;       // [B, R, G, H] A out, overwritten; may be dy itself
};
void rotary_backward(Queue& queue, const RotaryBackward& args);

}  // namespace segue::kernels
