#include "core/evaluation/evaluation_lengths.h"

#include "core/config/bounds.h"

namespace segue {

void describe_lengths(JsonFields& fields, std::vector<int64_t>& tgt_len, std::vector<int64_t>& mem_len) {
  fields.optional("tgt_len", tgt_len,
                  {.meaning = "segment lengths, a result for each. By default, the length of training is used",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.optional("mem_len", mem_len,
                  {.meaning = "memory lengths, a result for each. By default, the length of training is used",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest});
}

void describe_streams(JsonFields& fields, int64_t& batch_size) {
  fields.optional("batch_size", batch_size,
                  {.meaning = "streams read side by side", .minimum = 1, .maximum = kMostStreams});
}

std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, int64_t trained) {
  return asked.empty() ? std::vector{trained} : asked;
}

std::vector<EvaluationPoint> every_point(const std::vector<int64_t>& tgt_len, const std::vector<int64_t>& mem_len,
                                         const EvaluationPoint& trained) {
  std::vector<EvaluationPoint> points;
  for (const int64_t tgt : lengths_or(tgt_len, trained.tgt_len)) {
    for (const int64_t mem : lengths_or(mem_len, trained.mem_len)) points.push_back({.tgt_len = tgt, .mem_len = mem});
  }
  return points;
}

}  // namespace segue
