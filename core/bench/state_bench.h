// Times the scan of a state that tokens write and read.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bench/report.h"
#include "core/bench/workbench.h"
#include "core/config/kinds.h"

namespace segue {

struct StateShape {
  int64_t streams = 16;
  int64_t heads = 8;
  int64_t d_head = 64;  // of keys and of values
  int64_t tgt_len = 512;
  StateDecay decay = StateDecay::kNone;
  bool erases = false;
  void describe(JsonFields& fields);
};

struct StateBench {
  std::vector<Measurement> measurements;  // forward; forward and backward unless left out
  int64_t state_bytes = 0;                // of all streams: what goes on to the next segment, whatever T
  int64_t kept_bytes = 0;                 // of the states that the forward keeps for the backward
};

// Keys of unit length, decays and strengths as a layer makes them of random tokens.
StateBench bench_state(Workbench& workbench, const Effort& effort, const StateShape& shape, bool forward_only);

}  // namespace segue
