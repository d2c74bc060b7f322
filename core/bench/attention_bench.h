// Times relative attention.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bench/report.h"
#include "core/bench/workbench.h"
#include "core/config/model_config.h"

namespace segue {

struct AttentionShape {
  int64_t streams = 16;
  int64_t heads = 8;
  int64_t d_head = 64;
  int64_t tgt_len = 512;
  int64_t mem_len = 512;
  int64_t window = 0;
  std::vector<PatternConfig> patterns = {};  // with which there is no window
  bool has_distances = true;                 // false: no r and w, as of absolute positions
  void describe(JsonFields& fields);

  int64_t positions() const { return has_distances ? mem_len + tgt_len : 0; }
};

struct AttentionBench {
  std::vector<Measurement> measurements;  // forward; forward and backward unless left out
  int64_t tensor_bytes = 0;               // of all inputs, outputs and gradients
  int64_t workspace_bytes = 0;            // of what is there besides: row statistics, scratch and lists of tiles
};

AttentionBench bench_attention(Workbench& workbench, const Effort& effort, const AttentionShape& shape,
                               bool forward_only);

// What attention of this shape sees.
ModelUse use_of(const AttentionShape& shape);

}  // namespace segue
