#include "core/head/next_token.h"

#include <algorithm>
#include <cmath>

namespace segue {

namespace {

double log_sum_exp(std::span<const float> logits, double largest) {
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

float largest_of(std::span<const float> logits) { return *std::max_element(logits.begin(), logits.end()); }

void subtract(std::span<float> logits, double value) {
  for (float& logit : logits) logit = static_cast<float>(static_cast<double>(logit) - value);
}

}  // namespace

NextToken::NextToken(const ModelConfig& model, int64_t vocab_size, Parameters& parameters)
    : vocab_size_(vocab_size),
      reversed_(model.head.cluster_order == ClusterOrder::kReversed),
      clusters_(vocabulary_clusters(model, vocab_size)) {
  const Device device = parameters.compute().device;
  for (const VocabularyCluster& cluster : clusters_) {
    const ConstTensorView bias = parameters[cluster.output_bias].value;
    const bool is_own = bias.shape[0] == cluster.words;
    biases_.push_back(host_copy(is_own ? bias : bias.rows(cluster.first, cluster.words), device));
    if (biases_.size() == 1 && clusters_.size() > 1)
      biases_.push_back(host_copy(parameters[kClusterBias].value, device));
  }
}

std::span<float> NextToken::add_bias(const OwnedTensor& logits, size_t softmax, int64_t b, std::span<float> out) const {
  const int64_t columns = logits.shape()[2];
  const float* row = logits.as<float>() + b * columns;
  const float* bias = biases_[softmax].as<float>();
  for (int64_t i = 0; i < columns; ++i) out[static_cast<size_t>(i)] = row[i] + bias[i];
  return out.first(static_cast<size_t>(columns));
}

void NextToken::log_probabilities(std::span<const OwnedTensor> logits, int64_t b,
                                  std::span<float> log_probability) const {
  if (std::ssize(log_probability) != vocab_size_)
    throw ContractError("log_probabilities: expected room for {} tokens, found {}", vocab_size_,
                        log_probability.size());
  const std::span<float> frequent = add_bias(logits[0], 0, b, log_probability);
  if (clusters_.size() == 1) return subtract(frequent, log_sum_exp(frequent, largest_of(frequent)));

  std::vector<float> gates(clusters_.size() - 1);
  add_bias(logits[1], 1, b, gates);
  const double largest = std::max(largest_of(frequent), largest_of(gates));
  const double of_words = log_sum_exp(frequent, largest);
  const double of_gates = log_sum_exp(gates, largest);
  const double normaliser = std::max(of_words, of_gates) + std::log1p(std::exp(-std::abs(of_words - of_gates)));
  subtract(frequent, normaliser);
  for (size_t i = 1; i < clusters_.size(); ++i) {
    const float gate = gates[reversed_ ? gates.size() - i : i - 1];
    const std::span<float> words =
        add_bias(logits[i + 1], i + 1, b, log_probability.subspan(static_cast<size_t>(clusters_[i].first)));
    subtract(words, log_sum_exp(words, largest_of(words)) + normaliser - static_cast<double>(gate));
  }
}

}  // namespace segue
