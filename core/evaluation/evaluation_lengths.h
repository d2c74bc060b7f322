// The lengths and streams of an evaluation: the keys that ask for them, described once for all commands, and the points
// that they make.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json_fields.h"

namespace segue {

// The lengths of one result.
struct EvaluationPoint {
  int64_t tgt_len = 0;
  int64_t mem_len = 0;
};

void describe_lengths(JsonFields& fields, std::vector<int64_t>& tgt_len, std::vector<int64_t>& mem_len);
void describe_streams(JsonFields& fields, int64_t& batch_size);

// What was asked for; where that is nothing, the length of training.
std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, int64_t trained);

// Every mem_len with every tgt_len that were asked for, or those of `trained`.
std::vector<EvaluationPoint> every_point(const std::vector<int64_t>& tgt_len, const std::vector<int64_t>& mem_len,
                                         const EvaluationPoint& trained);

}  // namespace segue
