// Text is read in parts, each up to the end of a segment at most.
#include "core/generate/generator.h"

#include <algorithm>

namespace segue {

Generator::Generator(const ModelInUse& in_use, int64_t samples, int64_t tgt_len)
    : samples_(samples),
      tgt_len_(tgt_len),
      engine_(in_use, Tape::Mode::kEvaluation),
      memory_(make_frozen_memory(in_use, samples, tgt_len)),
      bytes_(engine_.prepare({.streams = samples, .tgt_len = tgt_len, .output = SegmentOutput::kNextToken}, *memory_)),
      next_token_(in_use.model.config(), in_use.model.vocab_size(), in_use.parameters),
      log_probability_(static_cast<size_t>(in_use.model.vocab_size())) {}

void Generator::read(std::span<const int32_t> tokens, const std::function<void(int64_t)>& progress) {
  if (tokens.empty()) throw ContractError("generator: expected at least one token to read");
  for (size_t begin = 0; begin < tokens.size();) {
    // In the middle of a segment token by token, as absolute positions ask for.
    const int64_t most = memory_->position() == 0 ? tgt_len_ : 1;
    const auto part = tokens.subspan(begin, std::min(tokens.size() - begin, static_cast<size_t>(most)));
    OwnedTensor of_samples(DType::kInt32, {samples_, std::ssize(part)});
    for (int64_t b = 0; b < samples_; ++b)
      std::copy(part.begin(), part.end(), of_samples.as<int32_t>() + b * std::ssize(part));
    predict(of_samples);
    begin += part.size();
    if (progress) progress(static_cast<int64_t>(begin));
  }
}

void Generator::read_each(std::span<const int32_t> tokens) {
  if (std::ssize(tokens) != samples_)
    throw ContractError("generator: expected a token for each of {} samples, found {}", samples_, tokens.size());
  OwnedTensor of_samples(DType::kInt32, {samples_, 1});
  std::copy(tokens.begin(), tokens.end(), of_samples.as<int32_t>());
  predict(of_samples);
}

std::span<const float> Generator::next(int64_t sample) {
  next_token_.log_probabilities(logits_, sample, log_probability_);
  return log_probability_;
}

}  // namespace segue
