// The head axis: tokens in, and the loss of predicted tokens out. Both share their tables when weights are tied.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/head/vocabulary_clusters.h"
#include "core/tape/operations.h"

namespace segue {

// All kinds of `model.head.kind` share the embedding; each computes the loss its own way.
class Head {
 public:
  Head(const ModelConfig& model, int64_t vocab_size)
      : model_(model), vocab_size_(vocab_size), clusters_(vocabulary_clusters(model, vocab_size)) {}
  virtual ~Head() = default;

  // tokens [B, T] -> hidden states [B, T, D], scaled by sqrt(D).
  Value embed_tokens(Tape& tape, Parameters& parameters, Slot tokens, const DropoutSite& site) const;

  // hidden states [B, T, D] and targets [B, T] -> the loss of every token.
  virtual TokenLoss loss(Tape& tape, Parameters& parameters, const Value& hidden,
                         const TokenTargets& targets) const = 0;

  // hidden states [B, T, D] -> logits before their bias is added, [B, T, columns] for each softmax: see next_token.h.
  virtual std::vector<Slot> logits(Tape& tape, Parameters& parameters, const Value& hidden) const = 0;

 private:
  Value embed_clusters(Tape& tape, Parameters& parameters, Slot tokens, float scale) const;

 protected:
  // Hidden states as the output rows of a cluster are wide.
  Value project(Tape& tape, Parameters& parameters, const Value& hidden, const VocabularyCluster& cluster) const;

  ModelConfig model_;
  int64_t vocab_size_;
  std::vector<VocabularyCluster> clusters_;
};

// Throws ConfigError when the clusters do not fit into the vocabulary.
std::unique_ptr<Head> make_head(const ModelConfig& model, int64_t vocab_size);

// Each kind's own file defines one function of this type.
using HeadMaker = std::unique_ptr<Head>(const ModelConfig& model, int64_t vocab_size);

}  // namespace segue
