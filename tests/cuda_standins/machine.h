// The machine that the stand-ins imitate, as tests set it, and counts that they may ask for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace segue::standin {

struct Machine {
  int driver_version = CUDART_VERSION;    // 0: no driver
  cudaError_t enumeration = cudaSuccess;  // what counting the GPUs ends in
  int gpus = 1;
  int major = 9;
  size_t memory_bytes = size_t{1} << 30;
  uint64_t seed = 1;  // of the order in which streams advance

  // For cuBLASLt.
  bool has_algorithms = true;
  bool has_epilogues = true;  // false: algorithms only for products with nothing behind them
  int failed_results = 0;     // so many that cannot be used come first among what a heuristic finds
};
Machine& machine();

// How often something has happened since reset().
struct Counts {
  int heuristics = 0;
  int products = 0;
  int fused_epilogues = 0;
  int library_objects = 0;  // that cuBLASLt has created and not destroyed, of all times
};
Counts& counts();

// Another machine with nothing on it, on which nothing has gone wrong. What there was on the old one is forgotten.
void reset(const Machine& with = {});

int64_t live_objects();  // allocations, streams, events, graphs, and what cuBLASLt has created

}  // namespace segue::standin
