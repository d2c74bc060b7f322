// Adaptive softmax (Grave et al. 2017; transformer-xl's form): one softmax over the frequent words and a column for
// each further cluster, and within each of those a softmax over its words that only its tokens are put through.
#include "core/head/adaptive_softmax.h"
#include "core/head/head.h"

namespace segue {

namespace {

class AdaptiveHead : public Head {
 public:
  using Head::Head;

  TokenLoss loss(Tape& tape, Parameters& parameters, const Value& hidden, const TokenTargets& targets) const override {
    AdaptiveSoftmaxInputs inputs{.targets = targets.tokens,
                                 .cutoffs = model_.head.cutoffs,
                                 .reversed = model_.head.cluster_order == ClusterOrder::kReversed};
    for (const VocabularyCluster& cluster : clusters_) {
      inputs.clusters.push_back({.x = project(tape, parameters, hidden, cluster),
                                 .table = rows_of_cluster(parameters[cluster.output_table], cluster),
                                 .bias = rows_of_cluster(parameters[cluster.output_bias], cluster)});
    }
    if (clusters_.size() > 1) {
      inputs.cluster_weight = parameters[kClusterWeight];
      inputs.cluster_bias = parameters[kClusterBias];
    }
    return {.nll = adaptive_softmax(tape, inputs), .margin = {}};
  }

  std::vector<Slot> logits(Tape& tape, Parameters& parameters, const Value& hidden) const override {
    std::vector<Slot> logits;
    for (const VocabularyCluster& cluster : clusters_) {
      const Value x = project(tape, parameters, hidden, cluster);
      logits.push_back(linear(tape, x, rows_of_cluster(parameters[cluster.output_table], cluster)).data);
      if (&cluster == &clusters_.front() && clusters_.size() > 1)
        logits.push_back(linear(tape, x, parameters[kClusterWeight]).data);
    }
    return logits;
  }

 private:
  Parameter rows_of_cluster(const Parameter& parameter, const VocabularyCluster& cluster) const {
    return has_separate_tables(model_) ? parameter : parameter.rows(cluster.first, cluster.words);
  }
};

}  // namespace

HeadMaker make_adaptive_head;
std::unique_ptr<Head> make_adaptive_head(const ModelConfig& model, int64_t vocab_size) {
  return std::make_unique<AdaptiveHead>(model, vocab_size);
}

}  // namespace segue
