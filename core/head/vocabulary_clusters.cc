#include "core/head/vocabulary_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/config/head_kind.h"

namespace segue {

namespace {

// Names a cluster's parameters. Only the projections of the output are the cluster's own in any case.
void name_parameters(const ModelConfig& model, size_t i, VocabularyCluster& cluster) {
  const HeadConfig& head = model.head;
  const bool separate = has_separate_tables(model);
  const std::string own = fmt::format("clusters.{}.", i);
  const std::string part = separate ? own : "";
  const bool projects = cluster.width != model.d_model || (separate && head.proj_same_dim);
  const bool ties_projection = !head.tie_projs.empty() && head.tie_projs[i];
  const std::string output_projection = head.kind == HeadKind::kAdaptive ? own : "";

  cluster.table = "embedding." + part + "table";
  cluster.output_table = head.tie_weight ? cluster.table : "head." + part + "table";
  cluster.output_bias = "head." + part + "bias";
  if (!projects) return;
  cluster.projection = "embedding." + part + "projection";
  cluster.output_projection = ties_projection ? cluster.projection : "head." + output_projection + "projection";
}

// Appends parameters, each once.
class SpecList {
 public:
  explicit SpecList(std::vector<ParameterSpec>& specs) : specs_(specs) {}
  void add(ParameterSpec spec) {
    const auto same = [&spec](const ParameterSpec& other) { return other.name == spec.name; };
    if (std::none_of(specs_.begin(), specs_.end(), same)) specs_.push_back(std::move(spec));
  }

 private:
  std::vector<ParameterSpec>& specs_;
};

}  // namespace

bool has_separate_tables(const ModelConfig& model) { return model.head.div_val > 1; }

std::vector<VocabularyCluster> vocabulary_clusters(const ModelConfig& model, int64_t vocab_size) {
  const HeadConfig& head = model.head;
  check_cutoffs(model, vocab_size, "the model");
  std::vector<VocabularyCluster> clusters(head.cutoffs.size() + 1);
  int64_t width = effective_d_embed(model);
  for (size_t i = 0; i < clusters.size(); ++i) {
    const int64_t end = i < head.cutoffs.size() ? head.cutoffs[i] : vocab_size;
    clusters[i].first = i == 0 ? 0 : head.cutoffs[i - 1];
    clusters[i].words = end - clusters[i].first;
    clusters[i].width = width;
    name_parameters(model, i, clusters[i]);
    width /= head.div_val;
  }
  return clusters;
}

void declare_embedding(const ModelConfig& model, int64_t vocab_size, std::vector<ParameterSpec>& specs) {
  SpecList list(specs);
  for (const VocabularyCluster& cluster : vocabulary_clusters(model, vocab_size)) {
    list.add({cluster.table, {has_separate_tables(model) ? cluster.words : vocab_size, cluster.width}});
    if (!cluster.projection.empty())
      list.add({cluster.projection, {model.d_model, cluster.width}, Initializer::kProjection});
  }
}

void declare_output(const ModelConfig& model, int64_t vocab_size, std::vector<ParameterSpec>& specs) {
  SpecList list(specs);
  const std::vector<VocabularyCluster> clusters = vocabulary_clusters(model, vocab_size);
  for (const VocabularyCluster& cluster : clusters) {
    const int64_t rows = has_separate_tables(model) ? cluster.words : vocab_size;
    list.add({cluster.output_table, {rows, cluster.width}});
    if (!cluster.output_projection.empty())
      list.add({cluster.output_projection, {model.d_model, cluster.width}, Initializer::kProjection});
    list.add({cluster.output_bias, {rows}, Initializer::kZero});
  }
  const auto tails = static_cast<int64_t>(clusters.size()) - 1;
  if (tails == 0) return;
  list.add({kClusterWeight, {tails, clusters[0].width}});
  list.add({kClusterBias, {tails}, Initializer::kZero});
}

}  // namespace segue
