// The distribution of the token that follows, from the logits that Head::logits records.
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/head/vocabulary_clusters.h"
#include "core/tape/parameters.h"

namespace segue {

// For one set of frozen weights. The logits are those of the whole vocabulary, or of the adaptive softmax: of its
// frequent words, of the columns that stand for the other clusters, and of each other cluster's words.
class NextToken {
 public:
  NextToken(const ModelConfig& model, int64_t vocab_size, Parameters& parameters);

  // Computes for stream b the log-probability of every token of the vocabulary, [V].
  void log_probabilities(std::span<const OwnedTensor> logits, int64_t b, std::span<float> log_probability) const;

 private:
  std::span<float> add_bias(const OwnedTensor& logits, size_t softmax, int64_t b, std::span<float> out) const;

  int64_t vocab_size_;
  bool reversed_;
  std::vector<VocabularyCluster> clusters_;
  std::vector<OwnedTensor> biases_;  // one for each tensor of logits
};

}  // namespace segue
