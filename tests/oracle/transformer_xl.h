// Transformer-XL by its formulas (Dai et al. 2019, section 3 and appendix B), one stream at a time, in plain loops.
//
// A segment may be computed under any visibility: with the memory of the segments before it and its own mask, or as one
// dense pass over a whole stream whose mask says what segments and memories would have let through.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "core/model/dropout_sites.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/embedding.h"
#include "tests/oracle/feed_forward.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/masked_attention.h"

namespace segue::oracle {

// What a stream's dropout is drawn from, in training.
struct StreamRandom {
  uint64_t seed = 0;
  uint64_t step = 0;
  int64_t stream = 0;  // its number among all streams of the run
};

// Per layer [M, D]: constants, through which no derivative passes.
using Memory = std::vector<std::vector<double>>;

template <typename Scalar>
class TransformerXl {
 public:
  using Rows = std::vector<Scalar>;
  using Weights = std::map<std::string, Rows>;  // by Segue's names

  TransformerXl(const ModelConfig& config, Weights weights, const std::optional<StreamRandom>& random = {})
      : config_(config), weights_(std::move(weights)), random_(random) {}

  Rows& weight(const std::string& name) { return weights_.at(name); }
  const Rows& weight(const std::string& name) const { return weights_.at(name); }

  struct Segment {
    Rows nll;                  // [T]
    std::vector<Rows> hidden;  // per layer [T, D]: its input, which becomes memory
  };
  Segment segment(const std::vector<int32_t>& tokens, const std::vector<int32_t>& targets, const Memory& memory,
                  const Visibility& sees) const {
    Segment out;
    Rows x = embedded(tokens);
    const Rows encoding = encoded_distances(row_count(memory[0]) + row_count(x));
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
      out.hidden.push_back(x);
      x = layer_output(layer, x, {memory[layer], encoding, sees});
    }
    out.nll = losses(dropped(std::move(x), config_.d_model, kOutputDropoutSite), targets);
    return out;
  }

 private:
  template <typename Element>
  int64_t row_count(const std::vector<Element>& rows) const {
    return static_cast<int64_t>(rows.size()) / config_.d_model;
  }

  std::vector<double> mask(double p, uint16_t site, int64_t first_element, int64_t count) const {
    if (!random_) return std::vector<double>(count, 1.0);
    return dropout_mask({.p = static_cast<float>(p),
                         .random = {.seed = random_->seed, .step = random_->step, .site = site},
                         .first_element = static_cast<uint64_t>(first_element)},
                        count);
  }

  // The mask of a tensor of which every stream has its own `count` elements.
  std::vector<double> stream_mask(double p, uint16_t site, int64_t count) const {
    return mask(p, site, random_ ? random_->stream * count : 0, count);
  }

  Rows dropped(Rows x, int64_t columns, uint16_t site) const {
    const int64_t rows = static_cast<int64_t>(x.size()) / columns;
    return multiply(x, stream_mask(config_.dropout, site, rows * columns));
  }

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
    return dropped(std::move(x), config_.d_model, kEmbeddingDropoutSite);
  }

  // Row d: sines, then cosines, of the distance that d counts as. One mask for all streams.
  Rows encoded_distances(int64_t keys) const {
    const int64_t width = config_.d_model;
    const int64_t clamp_len = config_.position.clamp_len;
    const std::vector<double> multipliers = mask(config_.dropout, kPositionDropoutSite, 0, keys * width);
    Rows encoding;
    for (int64_t d = 0; d < keys; ++d) {
      const int64_t distance = clamp_len > 0 ? std::min(d, clamp_len) : d;
      for (int64_t c = 0; c < width; ++c) {
        const double exponent = 2.0 * static_cast<double>(c % (width / 2)) / static_cast<double>(width);
        const double angle = static_cast<double>(distance) / std::pow(10000.0, exponent);
        encoding.push_back(multipliers[distance * width + c] * (c < width / 2 ? std::sin(angle) : std::cos(angle)));
      }
    }
    return encoding;
  }

  // What a layer reads besides the residual stream.
  struct Surroundings {
    const std::vector<double>& memory;
    const Rows& encoding;
    const Visibility& sees;
  };

  Rows layer_output(int64_t layer, const Rows& x, const Surroundings& around) const {
    const bool pre = config_.block.pre_lnorm;
    const std::string prefix = "layers." + std::to_string(layer);
    const auto norm = [&](const std::string& part, const Rows& rows) {
      const std::string name = prefix + part + ".norm.";
      return layer_norm(rows, weight(name + "gain"), weight(name + "bias"), config_.block.layer_norm_epsilon).y;
    };
    const auto residual = [&](const Rows& stream, Rows branch, LayerDropout place) {
      return sum_of(stream, dropped(std::move(branch), config_.d_model, layer_dropout_site(layer, place)));
    };
    Rows context(around.memory.begin(), around.memory.end());
    context.insert(context.end(), x.begin(), x.end());
    if (pre) context = norm(".attention", context);
    Rows y = residual(x, attention(layer, context, around), LayerDropout::kAttentionOutput);
    if (!pre) y = norm(".attention", y);
    const Rows fed = fed_forward(layer, pre ? norm(".feed_forward", y) : y);
    const Rows z = residual(y, fed, LayerDropout::kFeedForwardOutput);
    return pre ? z : norm(".feed_forward", z);
  }

  Rows attention(int64_t layer, const Rows& context, const Surroundings& around) const {
    const std::string prefix = "layers." + std::to_string(layer) + ".attention.";
    const std::string biases = config_.position.untie_r ? prefix : "attention.";
    const int64_t width = config_.d_model;
    const int64_t heads_width = config_.n_head * config_.d_head;
    const int64_t keys = row_count(context);
    const int64_t memory = row_count(around.memory);
    const MaskedAttention<Scalar> heads{
        .memory = memory,
        .queries = keys - memory,
        .heads = config_.n_head,
        .width = config_.d_head,
        .qkv = matmul({keys, 3 * heads_width, width}, context, false, weight(prefix + "qkv"), true),
        .r = matmul({keys, heads_width, width}, around.encoding, false, weight(prefix + "r"), true),
        .u = weight(biases + "u"),
        .w = weight(biases + "w")};
    const std::vector<double> multipliers =
        stream_mask(config_.dropatt, layer_dropout_site(layer, LayerDropout::kAttentionScores),
                    config_.n_head * heads.queries * keys);
    return matmul({heads.queries, width, heads_width}, heads.output(around.sees, multipliers), false,
                  weight(prefix + "output"), true);
  }

  Rows fed_forward(int64_t layer, const Rows& x) const {
    const std::string prefix = "layers." + std::to_string(layer) + ".feed_forward.";
    const FeedForward<Scalar> network{x, weight(prefix + "w1"), weight(prefix + "b1"), weight(prefix + "w2"),
                                      weight(prefix + "b2")};
    const bool gelu = config_.block.activation == ActivationKind::kGelu;
    return feed_forward(network, gelu ? kernels::Activation::kGelu : kernels::Activation::kRelu,
                        stream_mask(config_.dropout, layer_dropout_site(layer, LayerDropout::kHidden),
                                    row_count(x) * config_.d_inner))
        .y;
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

  // Frequent words and clusters in one softmax, the words of a cluster in another (transformer-xl.md, section 8).
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

  Rows losses(const Rows& x, const std::vector<int32_t>& targets) const {
    Rows nll;
    for (size_t row = 0; row < targets.size(); ++row) {
      const auto begin = x.begin() + static_cast<int64_t>(row) * config_.d_model;
      nll.push_back(loss({begin, begin + config_.d_model}, targets[row]));
    }
    return nll;
  }

  ModelConfig config_;
  Weights weights_;
  std::optional<StreamRandom> random_;
};

}  // namespace segue::oracle
