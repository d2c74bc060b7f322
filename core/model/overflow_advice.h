// What to do where a trained model's losses are no numbers.
#pragma once

#include <string>

#include "core/config/kinds.h"
#include "core/model/stored_model.h"

namespace segue {

// Of a model that was used with these lengths, which may be those that it was trained with: "what is computed with its
// weights overflows, or they are broken: try fp32 in place of bf16, ..."
std::string overflow_advice(const StoredModel& trained, int64_t tgt_len, int64_t mem_len, PrecisionKind precision);

}  // namespace segue
