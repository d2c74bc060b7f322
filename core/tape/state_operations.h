// The operations that states are written in: what is done to queries, keys and outputs, gates, and the scan.
#pragma once

#include "core/tape/parameters.h"
#include "core/tape/tape.h"
#include "kernels/gate.h"
#include "kernels/head_norm.h"

namespace segue {

// Of each head of x [B, T, N*H]: an activation, a norm, a gain [H] of all heads and a gate [B, T, N*H], both of which
// may be left out: [B, T, N*H].
struct HeadNormOperation {
  kernels::Feature feature = kernels::Feature::kIdentity;
  kernels::HeadNorm norm = kernels::HeadNorm::kNone;
  float epsilon = 1e-6F;
  int64_t width = 0;  // H
  Parameter gain = {};
  Value gate = {};
};
Value head_norm(Tape& tape, const Value& x, const HeadNormOperation& operation);

// Of x [B, T, C], biases and rates [C], these of decays alone: [B, T, C] float32.
struct GateOperation {
  kernels::GateFormula formula;
  Parameter bias;
  Parameter rate = {};
};
Value gate(Tape& tape, const Value& x, const GateOperation& operation);

// What tokens read from states that they write: kernels/state_scan.h.
struct StateScanOperation {
  Shape heads;           // N, H
  Value q, k, v;         // [B, T, N*H]
  Value log_decay = {};  // [B, T, N] or [B, T, N*H] float32; or [N], without gradient; or none
  Value strength = {};   // [B, T, N] float32, or none
  Value initial = {};    // [B, N, H, H] float32
  float scale = 1.0F;
  bool erases = false;
  bool is_read_on = false;  // whether a later segment of the step learns through the state
};
struct ScannedState {
  Value output;  // [B, T, N*H]
  Value state;   // [B, N, H, H] float32, after the last token; has a gradient where it is read on
};
ScannedState state_scan(Tape& tape, const StateScanOperation& operation);

}  // namespace segue
