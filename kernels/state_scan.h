// A memory that is a matrix: each token decays it, may erase what its key finds there, and writes its value under its
// key; its query reads it (Katharopoulos et al. 2020, arXiv:2006.16236; Yang et al. 2024, arXiv:2412.06464).
//
// Of every stream and head, with S the state [K, V] before the first token, k, q [K] and v [V] a token's:
//
//   D = diag(exp(log_decay)) S        all of it when there is no decay
//   u = beta (v - D' k)               erasing (the delta rule); otherwise u = beta v; beta is 1 where it is left out
//   S = D + k u'
//   o = scale S' q
//
// What precedes is all that the state knows: a text in parts, each from the state that the part before left, gives the
// same results, up to rounding, since tokens are taken in chunks. Decays come before erasing. The sum by which some
// kinds divide is a column of the value that is 1 everywhere.
//
// backward  With G the gradient of S after a token: G += scale q do', du = G' k, dv = beta du, dbeta = du (v - D' k),
//           dD = G - k (beta du)' when erasing, otherwise G; dk = G u - D (beta du) when erasing, otherwise G u;
//           dq = scale S do; d log_decay = row sums of dD * D; the token before receives diag(exp(log_decay)) dD.
//           It starts from the states that the forward kept.
//
// Deterministic, whatever the number of threads. A: the dtype of activations, float32 or bfloat16, one for all of a
// call; sums and states are float32, operands of a GPU's products A.
#pragma once

#include <cstdint>

#include "base/device.h"
#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxStateKeys = 256;    // K
constexpr int64_t kMaxStateValues = 512;  // V

// Tokens from one kept state to the next: on a CPU, whose caches hold several, backward makes those between anew.
constexpr int64_t states_apart(DeviceKind device) { return device == DeviceKind::kCpu ? 64 : 16; }
// How many states the forward keeps of T tokens.
constexpr int64_t kept_states(int64_t tgt_len, DeviceKind device) {
  return (tgt_len + states_apart(device) - 1) / states_apart(device);
}

struct StateScanInputs {
  ConstTensorView q, k;  // [B, T, N, K] A in
  ConstTensorView v;     // [B, T, N, V] A in
  ConstTensorView
      log_decay;         // float32 in, at most 0: [N] of each head, [B, T, N] or of each channel [B, T, N, K]; or none
  ConstTensorView beta;  // [B, T, N] float32 in, or none
  ConstTensorView initial;  // [B, N, K, V] float32 in, or none: zeros
  float scale = 1.0F;
  bool erases = false;
};

struct StateScanForward {
  StateScanInputs inputs;
  TensorView output;  // [B, T, N, V] A out
  TensorView final;   // [B, N, K, V] float32 out; may be inputs.initial
  TensorView kept;    // [B, N, kept_states, K, V] float32 out, or none: nothing will go backward
};
void state_scan_forward(Queue& queue, const StateScanForward& args);

struct StateScanBackward {
  StateScanInputs inputs;   // as in the forward; initial is not read
  ConstTensorView kept;     // [B, N, kept_states, K, V] float32 in, from the forward
  ConstTensorView doutput;  // [B, T, N, V] A in
  ConstTensorView dfinal;   // [B, N, K, V] float32 in, or none: zeros
  TensorView dq, dk;        // [B, T, N, K] A out, overwritten
  TensorView dv;            // [B, T, N, V] A out, overwritten
  TensorView
      dlog_decay;       // float32 out, overwritten: as log_decay; none where that is none or [N], which is not learned
  TensorView dbeta;     // [B, T, N] float32 out, overwritten; none where beta is
  TensorView dinitial;  // [B, N, K, V] float32 out, overwritten; may be dfinal
};
void state_scan_backward(Queue& queue, const StateScanBackward& args);

}  // namespace segue::kernels
