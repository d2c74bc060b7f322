// Embedding and loss of a vocabulary divided into clusters, by the formulas (docs/numerics.md, Embedding and Loss), one
// token at a time in plain loops. The plain softmax has one cluster.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/head_kind.h"
#include "core/config/model_config.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

template <typename Scalar>
class VocabularyClusters {
 public:
  using Rows = std::vector<Scalar>;
  using Weights = std::map<std::string, Rows>;  // by Segue's names

  VocabularyClusters(const ModelConfig& config, const Weights& weights) : config_(config), weights_(weights) {}

  // [T, D], without dropout.
  Rows embedded(const std::vector<int32_t>& tokens) const {
    const double scale = std::sqrt(static_cast<double>(config_.d_model));
    Rows x;
    for (const int32_t token : tokens) {
      for (const Cluster& cluster : clusters()) {
        if (token < cluster.first || token >= cluster.first + cluster.words) continue;
        Rows row = row_of("embedding.", "table", cluster, token - cluster.first, cluster.width);
        if (projects(cluster)) {
          const Rows& projection = weight("embedding." + (separate() ? cluster.prefix : "") + "projection");
          row = matmul({1, config_.d_model, cluster.width}, row, false, projection, true);
        }
        for (const Scalar& value : row) x.push_back(scale * value);
      }
    }
    return x;
  }

  // [T] of hidden states [T, D].
  Rows losses(const Rows& x, const std::vector<int32_t>& targets) const {
    Rows nll;
    for (size_t row = 0; row < targets.size(); ++row) {
      const auto begin = x.begin() + static_cast<int64_t>(row) * config_.d_model;
      nll.push_back(loss({begin, begin + config_.d_model}, targets[row]));
    }
    return nll;
  }

 private:
  const Rows& weight(const std::string& name) const { return weights_.at(name); }

  // Cluster i of the vocabulary: its first token, its words, the width of its rows.
  struct Cluster {
    int64_t first, words, width;
    std::string prefix;  // of its parameters' names behind "embedding." and "head."
    bool ties_projection;
  };

  std::vector<Cluster> clusters() const {
    const HeadConfig& head = config_.head;
    const auto vocabulary = static_cast<int64_t>(all_biases());
    std::vector<Cluster> out;
    for (size_t i = 0; i <= head.cutoffs.size(); ++i) {
      const int64_t first = i == 0 ? 0 : head.cutoffs[i - 1];
      const int64_t end = i == head.cutoffs.size() ? vocabulary : head.cutoffs[i];
      const int64_t divisor = static_cast<int64_t>(std::pow(head.div_val, i));
      out.push_back({first, end - first, effective_d_embed(config_) / divisor, "clusters." + std::to_string(i) + ".",
                     !head.tie_projs.empty() && head.tie_projs[i]});
    }
    return out;
  }

  // One bias to every word, however many tensors they lie in.
  size_t all_biases() const {
    size_t count = 0;
    for (const auto& [name, values] : weights_) {
      const bool of_words = name.starts_with("head.") && name.ends_with("bias") && name != "head.cluster_bias";
      count += of_words ? values.size() : 0;
    }
    return count;
  }

  bool separate() const { return config_.head.div_val > 1; }
  bool projects(const Cluster& cluster) const {
    return cluster.width != config_.d_model || (separate() && config_.head.proj_same_dim);
  }

  // Row `word` of a cluster's table or bias, of `width` elements.
  Rows row_of(const std::string& floor, const char* tensor, const Cluster& cluster, int64_t word, int64_t width) const {
    const Rows& all = weight(floor + (separate() ? cluster.prefix : "") + tensor);
    const auto begin = all.begin() + (word + (separate() ? 0 : cluster.first)) * width;
    return {begin, begin + width};
  }

  // A hidden state as wide as a cluster's rows.
  Rows projected(const Rows& hidden, const Cluster& cluster) const {
    if (!projects(cluster)) return hidden;
    const std::string own = config_.head.kind == HeadKind::kAdaptive ? "head." + cluster.prefix : "head.";
    const std::string tied = "embedding." + (separate() ? cluster.prefix : "");
    const Rows& projection = weight((cluster.ties_projection ? tied : own) + "projection");
    return matmul({1, cluster.width, config_.d_model}, hidden, false, projection, false);
  }

  static Scalar product_with(const Rows& x, const Rows& row, const Scalar& bias) {
    Scalar sum = bias;
    for (size_t e = 0; e < row.size(); ++e) sum += x[e] * row[e];
    return sum;
  }

  Rows word_logits(const Rows& hidden, const Cluster& cluster) const {
    const Rows x = projected(hidden, cluster);
    const std::string tables = config_.head.tie_weight ? "embedding." : "head.";
    Rows logits;
    for (int64_t word = 0; word < cluster.words; ++word) {
      logits.push_back(product_with(x, row_of(tables, "table", cluster, word, cluster.width),
                                    row_of("head.", "bias", cluster, word, 1)[0]));
    }
    return logits;
  }

  // Frequent words and clusters in one softmax, the words of a cluster in another.
  Scalar loss(const Rows& hidden, int32_t target) const {
    const std::vector<Cluster> all = clusters();
    const int64_t tails = static_cast<int64_t>(all.size()) - 1;
    Rows logits = word_logits(hidden, all[0]);
    const Rows x = projected(hidden, all[0]);
    for (int64_t row = 0; row < tails; ++row) {
      const auto begin = weight("head.cluster_weight").begin() + row * all[0].width;
      logits.push_back(product_with(x, {begin, begin + all[0].width}, weight("head.cluster_bias")[row]));
    }
    if (target < all[0].words) return cross_entropy(logits, {target}).nll[0];
    int64_t i = tails;
    while (target < all[i].first) --i;
    const int64_t row = config_.head.cluster_order == ClusterOrder::kReversed ? tails - i : i - 1;
    return cross_entropy(logits, {static_cast<int32_t>(all[0].words + row)}).nll[0] +
           cross_entropy(word_logits(hidden, all[i]), {static_cast<int32_t>(target - all[i].first)}).nll[0];
  }

  const ModelConfig& config_;
  const Weights& weights_;
};

}  // namespace segue::oracle
