// Only what differs from training is named.
#include "core/model/overflow_advice.h"

#include <fmt/format.h>

namespace segue {

std::string overflow_advice(const StoredModel& trained, int64_t tgt_len, int64_t mem_len, PrecisionKind precision) {
  std::string advice = "what is computed with its weights overflows, or they are broken: try ";
  if (precision == PrecisionKind::kBf16) advice += "fp32 in place of bf16, ";
  if (tgt_len != trained.tgt_len || mem_len != trained.model.mem_len)
    advice += fmt::format("the lengths of training (tgt_len {}, mem_len {}), ", trained.tgt_len, trained.model.mem_len);
  return advice + "an earlier checkpoint";
}

}  // namespace segue
