// Times evaluation with memory, and evaluation that recomputes every token's context (Dai et al. 2019, table 9).
#pragma once

#include <cstdint>
#include <vector>

#include "core/bench/report.h"
#include "core/bench/workbench.h"
#include "core/config/config.h"

namespace segue {

// One attention length: how many tokens back a token sees.
struct EvalSpeed {
  int64_t length = 0;
  Measurement keys_and_values;  // a segment with a full memory of `length` rows, as `segue eval` runs it
  Measurement hidden_states;    // the same, keys and values recomputed for every segment, as in training
  Measurement window;           // `length` tokens without memory, of which the newest is scored

  double ratio() const;            // time of a token of the window to that of a token of keys_and_values
  double ratio_of_flops() const;   // of the operations that either needs
  double ratio_of_states() const;  // time of a token of the window to that of a token of hidden_states
};

// With the model of `config`, drawn weights, `streams` streams of random tokens and segments of `tgt_len`.
std::vector<EvalSpeed> bench_eval_speed(Workbench& workbench, const Effort& effort, const Config& config,
                                        int64_t vocab_size, int64_t streams, int64_t tgt_len,
                                        const std::vector<int64_t>& lengths);

// A segment of the config's training streams and length with a full KV cache, as `segue eval` runs it.
Measurement bench_evaluation(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size);

}  // namespace segue
