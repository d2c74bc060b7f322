// Gates that let values pass element by element, and values in the precision in which layers carry them.
#pragma once

#include <optional>

#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// With v = a or tanh(a) and s(z) = 1 / (1 + e^-z): b + s(logits + bias_factor bias) (v - b), as in
// kernels/element_gate.h. Of three different values.
struct ElementGate {
  Value a;                             // [B, R, D]
  bool is_bounded = false;             // v = tanh(a)
  Value b = {};                        // [B, R, D]; none: zeros
  Value logits = {};                   // [B, R, D]; none: zeros, where there is a bias
  std::optional<Parameter> bias = {};  // [D]
  float bias_factor = 1.0F;
};
Value element_gate(Tape& tape, const ElementGate& gate);

// The same numbers in a value of its own, of float32 or bfloat16.
Value copied_as(Tape& tape, const Value& x, DType dtype);

// Between activations and float32, in which layers carry values from segment to segment: x itself where activations
// are float32.
Value to_activations(Tape& tape, const Value& x);
Value to_floats(Tape& tape, const Value& x);

}  // namespace segue
