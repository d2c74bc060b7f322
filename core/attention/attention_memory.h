// What a kind of memory adds to a layer's attention: queries read it beside their keys.
#pragma once

#include <vector>

#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

class AttentionMemory {
 public:
  virtual ~AttentionMemory() = default;

  virtual void declare(std::vector<ParameterSpec>& specs) const = 0;

  // A segment as attention reads it.
  struct Segment {
    Value x;    // [B, T, D]
    Value qkv;  // [B, T, 3*N*H]: queries, keys and values of x without positions; something recorded later overwrites
                // their gradient
    bool is_read_on = false;  // whether a later segment of the step learns through what this one writes
  };
  // Records what it reads of what the layer carries (see carried_tensors), or of what a station put there instead.
  struct Read {
    Value output;        // [B, T, N*H]
    Value keys, values;  // [B, T, N*H], the segment's, or both in `keys` [B, T, 2*N*H]; with gradients where it is read
                         // on
  };
  virtual Read read(Tape& tape, Parameters& parameters, const Segment& segment,
                    const std::vector<Value>& carried) const = 0;

  // Records the layer's output [B, T, D] of both: what its heads attended to, [B, T, N*H], and what they read.
  // `projection` [D, N*H] is what attention alone would end in.
  virtual Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended,
                      const Parameter& projection) const = 0;

  // Records what the layer carries on after this segment. It has a gradient where the segment's keys and values have.
  virtual std::vector<Value> write(Tape& tape, const Read& segment, const std::vector<Value>& carried) const = 0;
};

}  // namespace segue
