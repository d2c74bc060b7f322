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

  // Records what a segment's queries read of what the layer carries (see carried_tensors). `qkv` [B, T, 3*N*H] are its
  // queries, keys and values without positions; something recorded later overwrites their gradient.
  struct Read {
    Value output;        // [B, T, N*H]
    Value keys, values;  // [B, T, N*H]: the segment's; with gradients where a later one of the step learns through them
  };
  virtual Read read(Tape& tape, const Value& qkv, const std::vector<Value>& carried, bool is_read_on) const = 0;

  // Records the heads' output of both: what they attended to, [B, T, N*H], and what they read. [B, T, N*H]
  virtual Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended) const = 0;

  // Records what the layer carries on after this segment. It has a gradient where the segment's keys and values have.
  virtual std::vector<Value> write(Tape& tape, const Read& segment, const std::vector<Value>& carried) const = 0;
};

}  // namespace segue
