// The operations that states are written in: what is done to queries, keys and outputs, gates, and the scan.
#pragma once

#include "core/tape/parameters.h"
#include "core/tape/tape.h"
#include "kernels/feature_map.h"
#include "kernels/gate.h"
#include "kernels/head_norm.h"
#include "kernels/rotary.h"

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

// Of x [B, T, C], biases and rates [C], these where the formula has them: [B, T, C] float32.
struct GateOperation {
  kernels::GateFormula formula;
  Parameter bias;
  Parameter rate = {};
};
Value gate(Tape& tape, const Value& x, const GateOperation& operation);

// What tokens read from states that they write: kernels/state_scan.h.
struct StateScanOperation {
  Shape state;           // N, K, V
  Value q, k;            // [B, T, N*K]
  Value v;               // [B, T, N*V]
  Value log_decay = {};  // [B, T, N] or [B, T, N*K] float32; or [N], without gradient; or none
  Value strength = {};   // [B, T, N] float32, or none
  Value initial = {};    // [B, N, K, V] float32
  float scale = 1.0F;
  bool erases = false;
  bool is_read = true;      // whether anything reads the output
  bool is_read_on = false;  // whether something later in the step learns through the state
};
struct ScannedState {
  Value output;  // [B, T, N*V]; has a gradient where it is read
  Value state;   // [B, N, K, V] float32, after the last token; has a gradient where it is read on
};
ScannedState state_scan(Tape& tape, const StateScanOperation& operation);

// What queries [B, T, N*K] read of a state [B, N, K, V] that stays as it is: [B, T, N*V].
Value state_read(Tape& tape, const Value& queries, const Value& state);

// A state [B, N, K, V] with values [B, T, N*V] under keys [B, T, N*K], which have gradients both or neither. It has one
// where these have; otherwise none is passed to the state.
Value state_write(Tape& tape, const Value& keys, const Value& values, const Value& state);

// The keys of a state [B, N, K, V] turned by so many positions: kernels/state_turn.h.
Value state_turn(Tape& tape, const Value& state, const kernels::RotaryTurn& turn);

// Of each head of a [B, T, N*H] a share that it learns, and the rest of b: kernels/blend.h. [B, T, N*H]
Value blend(Tape& tape, const Value& a, const Value& b, const Parameter& logits);

// The features of rows x [B, R, H], of which exponentials and waves also have projections [B, R, M]: [B, R, K].
struct FeatureOperation {
  kernels::FeatureFormula formula;
  int64_t shifts = 0;
  float scale = 1.0F;
  Value projections = {};
};
Value feature_map(Tape& tape, const Value& x, const FeatureOperation& operation);

// Of sums [B, R, H + 1] those of values, divided by that of weights: [B, R, H].
Value weighted_average(Tape& tape, const Value& sums, float floor);

// x [B, T, C] over so many tokens, and silu: kernels/short_convolution.h.
struct ConvolutionOperation {
  Parameter taps;           // [C, taps]
  Value before;             // [B, taps - 1, C] float32
  bool is_read_on = false;  // whether a later segment of the step learns through what it hands on
};
struct Convolved {
  Value output;  // [B, T, C]
  Value after;   // [B, taps - 1, C] float32; has a gradient where it is read on
};
Convolved short_convolution(Tape& tape, const Value& x, const ConvolutionOperation& operation);

}  // namespace segue
