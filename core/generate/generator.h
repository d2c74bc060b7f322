// Reads a prompt with a KV cache and continues it, several samples side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/engine/segment_engine.h"
#include "core/head/next_token.h"
#include "core/memory/memory.h"

namespace segue {

// Every sample is a stream. What a token sees is what it would see in an evaluation with segments of `tgt_len` tokens:
// the memory that its segment began with, and the segment so far.
class Generator {
 public:
  // The weights do not change while the generator is in use.
  Generator(const ModelInUse& in_use, int64_t samples, int64_t tgt_len);

  int64_t samples() const { return samples_; }
  const UseBytes& bytes() const { return bytes_; }

  // Reads tokens that all samples begin or continue with, at least one, segment by segment; `read` hears of how many so
  // far. Throws ContractError for a token outside the vocabulary.
  void read(std::span<const int32_t> tokens, const std::function<void(int64_t)>& progress = nullptr);
  // Continues each sample with a token of its own.
  void read_each(std::span<const int32_t> tokens);

  // The log-probability of each token to come next in a sample, [V]; valid until the next read or the next call.
  std::span<const float> next(int64_t sample);

 private:
  void predict(const OwnedTensor& tokens) { logits_ = engine_.predict(tokens.view(), *memory_); }

  int64_t samples_;
  int64_t tgt_len_;
  SegmentEngine engine_;
  std::unique_ptr<FrozenMemory> memory_;
  UseBytes bytes_;
  NextToken next_token_;
  std::span<const OwnedTensor> logits_;
  std::vector<float> log_probability_;
};

}  // namespace segue
