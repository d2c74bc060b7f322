// Passes that tokens stop taking: kernels/halting.h on the tape.
#pragma once

#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// How tokens halt, and what it costs them.
struct HaltingRule {
  float epsilon = 0.01F;
  float ponder = 0.0F;  // in the loss, for a token's remainder: a mean over all tokens of a step
  int64_t tokens = 1;   // of each stream in that mean
};

// What all passes so far have made of rows [B, T, D]. In the first pass it is empty.
struct HaltedPasses {
  Value totals;  // [B, T] float32: what a token's passes weigh, 1 once it has halted; none after the last pass
  Value sum;     // [B, T, D] float32: of its rows, by their weights
  Slot passes;   // [B, T] float32: how many it took
};

// Adds a pass: of logits [B, T, 1], with `bias` [1] for all, and the rows x [B, T, D] that it made of `before`. Returns
// the rows that the next pass reads: those of tokens that had halted are as before. None after the last pass.
Value add_pass(Tape& tape, HaltedPasses& passes, const HaltingRule& rule, const Value& logits, const Parameter& bias,
               const Value& before, const Value& x, bool is_last);

}  // namespace segue
