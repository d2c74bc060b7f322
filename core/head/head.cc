// The embedding of all heads: one table, or one for every cluster of the vocabulary.
#include "core/head/head.h"

#include <cmath>

#include "core/config/head_kind.h"

namespace segue {

// Each table gives rows of zeros for the tokens of the others.
Value Head::embed_clusters(Tape& tape, Parameters& parameters, Slot tokens, float scale) const {
  Value unprojected;
  std::vector<Product> products;
  for (const VocabularyCluster& cluster : clusters_) {
    const Lookup lookup{.first_token = cluster.first, .vocabulary = vocab_size_, .scale = scale};
    const Value rows = embed(tape, tokens, parameters[cluster.table], lookup);
    if (cluster.projection.empty()) {
      unprojected = rows;  // one at most: the tables' widths fall
    } else {
      products.push_back({rows, parameters[cluster.projection]});
    }
  }
  if (products.empty()) return unprojected;
  const Value projected = linear_sum(tape, products);
  return unprojected.data.exists() ? add(tape, {.sum = unprojected, .branch = projected, .site = {}}) : projected;
}

Value Head::embed_tokens(Tape& tape, Parameters& parameters, Slot tokens, const DropoutSite& site) const {
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(model_.d_model)));
  if (has_separate_tables(model_)) return dropout(tape, embed_clusters(tape, parameters, tokens, scale), site);
  const VocabularyCluster& any = clusters_.front();  // all name the same table
  if (any.projection.empty()) return embed(tape, tokens, parameters[any.table], {.scale = scale, .dropout = site});
  const Value rows = embed(tape, tokens, parameters[any.table], {.scale = scale});
  return dropout(tape, linear(tape, rows, parameters[any.projection]), site);
}

Value Head::project(Tape& tape, Parameters& parameters, const Value& hidden, const VocabularyCluster& cluster) const {
  if (cluster.output_projection.empty()) return hidden;
  return linear_transposed(tape, hidden, parameters[cluster.output_projection]);
}

// One in the file of each kind.
HeadMaker make_softmax_head;
HeadMaker make_adaptive_head;

std::unique_ptr<Head> make_head(const ModelConfig& model, int64_t vocab_size) {
  switch (model.head.kind) {
    case HeadKind::kSoftmax:
      return make_softmax_head(model, vocab_size);
    case HeadKind::kAdaptive:
      return make_adaptive_head(model, vocab_size);
  }
  throw ContractError("unknown head kind");
}

}  // namespace segue
