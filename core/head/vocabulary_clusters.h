// How the head axis divides the vocabulary: clusters of tokens by falling frequency, each with its own rows of a table
// or a narrower table of its own (adaptive input: Baevski & Auli 2019; adaptive softmax: Grave et al. 2017). The plain
// softmax has one cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/parameters.h"

namespace segue {

// Tokens [first, first + words) and the names of their parameters.
struct VocabularyCluster {
  int64_t first = 0;
  int64_t words = 0;
  int64_t width = 0;  // E of its rows

  // With div_val 1 all clusters name the same tables and biases, over the whole vocabulary; above, each its own.
  std::string table;              // [words, E]: the embedding
  std::string projection;         // [D, E], or empty: rows are as wide as hidden states, and used as they are
  std::string output_table;       // [words, E]: the embedding's when tied
  std::string output_projection;  // [D, E], or empty as above; the embedding's when tied
  std::string output_bias;        // [words]
};

// Throws ConfigError when the cutoffs do not fit into the vocabulary.
std::vector<VocabularyCluster> vocabulary_clusters(const ModelConfig& model, int64_t vocab_size);

// Whether every cluster has tables and biases of its own.
bool has_separate_tables(const ModelConfig& model);

// The parameters of these clusters: of the embedding, and those that only the output has.
void declare_embedding(const ModelConfig& model, int64_t vocab_size, std::vector<ParameterSpec>& specs);
void declare_output(const ModelConfig& model, int64_t vocab_size, std::vector<ParameterSpec>& specs);

// The output's rows for the clusters after the first, beside the words of the first: [n, E of the first] and [n].
inline constexpr const char* kClusterWeight = "head.cluster_weight";
inline constexpr const char* kClusterBias = "head.cluster_bias";

}  // namespace segue
