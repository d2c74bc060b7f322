// The correspondence, as data: "{}" stands for the number of a layer or cluster.
#include "core/convert/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "core/head/vocabulary_clusters.h"
#include "core/model/parameter_specs.h"

namespace segue {

namespace {

using enum TensorLayout;

struct Row {
  std::string_view segue;
  std::string_view foreign;
  TensorLayout layout = kSame;
};

// Shared by the three PyTorch codes.
constexpr std::array kPytorch{
    Row{"embedding.table", "word_emb.emb_layers.0.weight"},
    Row{"embedding.projection", "word_emb.emb_projs.0"},
    Row{"embedding.clusters.{}.table", "word_emb.emb_layers.{}.weight"},
    Row{"embedding.clusters.{}.projection", "word_emb.emb_projs.{}"},
    Row{"attention.u", "r_w_bias"},
    Row{"attention.w", "r_r_bias"},
    Row{"layers.{}.attention.u", "layers.{}.dec_attn.r_w_bias"},
    Row{"layers.{}.attention.w", "layers.{}.dec_attn.r_r_bias"},
    Row{"layers.{}.attention.qkv", "layers.{}.dec_attn.qkv_net.weight"},
    Row{"layers.{}.attention.r", "layers.{}.dec_attn.r_net.weight"},
    Row{"layers.{}.attention.output", "layers.{}.dec_attn.o_net.weight"},
    Row{"layers.{}.attention.norm.gain", "layers.{}.dec_attn.layer_norm.weight"},
    Row{"layers.{}.attention.norm.bias", "layers.{}.dec_attn.layer_norm.bias"},
    Row{"layers.{}.feed_forward.w1", "layers.{}.pos_ff.CoreNet.0.weight"},
    Row{"layers.{}.feed_forward.b1", "layers.{}.pos_ff.CoreNet.0.bias"},
    Row{"layers.{}.feed_forward.w2", "layers.{}.pos_ff.CoreNet.3.weight"},
    Row{"layers.{}.feed_forward.b2", "layers.{}.pos_ff.CoreNet.3.bias"},
    Row{"layers.{}.feed_forward.norm.gain", "layers.{}.pos_ff.layer_norm.weight"},
    Row{"layers.{}.feed_forward.norm.bias", "layers.{}.pos_ff.layer_norm.bias"},
    Row{"head.projection", "crit.out_projs.0"},
    Row{"head.clusters.{}.projection", "crit.out_projs.{}"},
    Row{"head.cluster_weight", "crit.cluster_weight"},
    Row{"head.cluster_bias", "crit.cluster_bias"},
};

constexpr std::array kLinearHead{
    Row{"head.table", "crit.out_layers.0.weight"},
    Row{"head.bias", "crit.out_layers.0.bias"},
    Row{"head.clusters.{}.table", "crit.out_layers.{}.weight"},
    Row{"head.clusters.{}.bias", "crit.out_layers.{}.bias"},
};

// The shared projections stand there for every cluster of the embedding, whether its output uses them or not.
constexpr std::array kNvidiaHead{
    Row{"head.table", "crit.out_layers_weights.0"},
    Row{"head.bias", "crit.out_layers_biases.0"},
    Row{"head.clusters.{}.table", "crit.out_layers_weights.{}"},
    Row{"head.clusters.{}.bias", "crit.out_layers_biases.{}"},
    Row{"embedding.projection", "crit.shared_out_projs.0"},
    Row{"embedding.clusters.{}.projection", "crit.shared_out_projs.{}"},
};

// Biases that all layers share appear under every layer too.
constexpr std::array kSharedBiases{
    Row{"attention.u", "layers.{}.dec_attn.r_w_bias"},
    Row{"attention.w", "layers.{}.dec_attn.r_r_bias"},
};

constexpr std::array kTensorflow{
    Row{"embedding.table", "adaptive_embed/lookup_table"},
    Row{"embedding.projection", "adaptive_embed/proj_W", kTransposed},
    Row{"embedding.clusters.{}.table", "adaptive_embed/cutoff_{}/lookup_table"},
    Row{"embedding.clusters.{}.projection", "adaptive_embed/cutoff_{}/proj_W", kTransposed},
    Row{"attention.u", "r_w_bias"},
    Row{"attention.w", "r_r_bias"},
    Row{"layers.{}.attention.u", "r_w_bias", kLayerOfStack},
    Row{"layers.{}.attention.w", "r_r_bias", kLayerOfStack},
    Row{"layers.{}.attention.qkv", "layer_{}/rel_attn/qkv/kernel", kTransposed},
    Row{"layers.{}.attention.r", "layer_{}/rel_attn/r/kernel", kTransposed},
    Row{"layers.{}.attention.output", "layer_{}/rel_attn/o/kernel", kTransposed},
    Row{"layers.{}.attention.norm.gain", "layer_{}/rel_attn/LayerNorm/gamma"},
    Row{"layers.{}.attention.norm.bias", "layer_{}/rel_attn/LayerNorm/beta"},
    Row{"layers.{}.feed_forward.w1", "layer_{}/ff/layer_1/kernel", kTransposed},
    Row{"layers.{}.feed_forward.b1", "layer_{}/ff/layer_1/bias"},
    Row{"layers.{}.feed_forward.w2", "layer_{}/ff/layer_2/kernel", kTransposed},
    Row{"layers.{}.feed_forward.b2", "layer_{}/ff/layer_2/bias"},
    Row{"layers.{}.feed_forward.norm.gain", "layer_{}/ff/LayerNorm/gamma"},
    Row{"layers.{}.feed_forward.norm.bias", "layer_{}/ff/LayerNorm/beta"},
    Row{"head.clusters.{}.bias", "adaptive_softmax/cutoff_{}/b"},
    Row{"head.clusters.{}.projection", "adaptive_softmax/cutoff_{}/proj", kTransposed},
    Row{"head.cluster_weight", "adaptive_softmax/cutoff_0/cluster_W"},
    Row{"head.cluster_bias", "adaptive_softmax/cutoff_0/cluster_b"},
};

constexpr std::array kTensorflowOneBias{Row{"head.bias", "adaptive_softmax/bias"}};
constexpr std::array kTensorflowBiases{Row{"head.bias", "adaptive_softmax/cutoff_{}/b", kConcatenated}};

// All rows of a format; `prefix` stands before every name but those of crit.
struct Naming {
  std::vector<std::span<const Row>> tables;
  std::string_view prefix;
};

Naming naming_of(WeightFormat format, const ModelConfig& model) {
  switch (format) {
    case WeightFormat::kTransformerXl:
      return {{kPytorch, kLinearHead}, ""};
    case WeightFormat::kNvidia:
      return {{kPytorch, kNvidiaHead}, ""};
    case WeightFormat::kHuggingFace:
      return {{kPytorch, kLinearHead, kSharedBiases}, "transformer."};
    case WeightFormat::kTransformerXlTf:
      if (model.head.cutoffs.empty()) return {{kTensorflow, kTensorflowOneBias}, "transformer/"};
      return {{kTensorflow, kTensorflowBiases}, "transformer/"};
  }
  throw ContractError("unknown format");
}

// "layers.12.attention.qkv" is number 12 of "layers.{}.attention.qkv".
struct Numbered {
  std::string pattern;
  std::optional<int64_t> number;
};

Numbered numbered(const std::string& name) {
  for (size_t begin = name.find('.') + 1; begin != 0; begin = name.find('.', begin) + 1) {
    int64_t number = 0;
    const char* const first = name.data() + begin;
    const char* const end = std::from_chars(first, name.data() + name.size(), number).ptr;
    if (end != first && *end == '.') return {std::string(name).replace(begin, end - first, "{}"), number};
  }
  return {name, std::nullopt};
}

// Expands the rows of a format for one model.
class Namer {
 public:
  Namer(WeightFormat format, const ModelConfig& model, int64_t vocab_size)
      : naming_(naming_of(format, model)), model_(model), clusters_(vocabulary_clusters(model, vocab_size)) {}

  // Adds what the format has for a tensor that Segue calls `name`.
  void add_names(ForeignTensor& tensor, const std::string& name) const {
    const Numbered parts = numbered(name);
    for (const std::span<const Row> table : naming_.tables) {
      for (const Row& row : table) {
        if (row.segue == parts.pattern) add_row(tensor, row, parts.number);
      }
    }
  }

 private:
  void add_row(ForeignTensor& tensor, const Row& row, std::optional<int64_t> number) const {
    const auto add = [&](int64_t n) { tensor.names.push_back(full_name(row.foreign, n)); };
    tensor.layout = row.layout;
    if (row.layout == kConcatenated) {
      for (const VocabularyCluster& cluster : clusters_) {
        add(std::ssize(tensor.parts));
        tensor.parts.push_back(cluster.words);
      }
    } else if (!number && row.foreign.find("{}") != std::string_view::npos) {
      for (int64_t layer = 0; layer < model_.n_layer; ++layer) add(layer);
    } else {
      tensor.row = number.value_or(0);
      add(tensor.row);
    }
  }

  std::string full_name(std::string_view foreign, int64_t number) const {
    std::string name = (foreign.starts_with("crit.") ? "" : std::string(naming_.prefix)).append(foreign);
    if (const size_t place = name.find("{}"); place != std::string::npos)
      name.replace(place, 2, std::to_string(number));
    return name;
  }

  Naming naming_;
  const ModelConfig& model_;
  std::vector<VocabularyCluster> clusters_;
};

// For each tensor that embedding and output share: what the output's would be called if they did not.
std::multimap<std::string, std::string> tied_names(const ModelConfig& model, int64_t vocab_size) {
  ModelConfig untied = model;
  untied.head.tie_weight = false;
  untied.head.tie_projs.assign(model.head.tie_projs.size(), false);
  const std::vector<VocabularyCluster> shared = vocabulary_clusters(model, vocab_size);
  const std::vector<VocabularyCluster> own = vocabulary_clusters(untied, vocab_size);
  std::multimap<std::string, std::string> names;
  const auto add = [&names](const std::string& name, const std::string& other) {
    if (name == other) return;
    const auto [begin, end] = names.equal_range(name);
    if (std::none_of(begin, end, [&other](const auto& known) { return known.second == other; }))
      names.emplace(name, other);
  };
  for (size_t i = 0; i < shared.size(); ++i) {
    add(shared[i].output_table, own[i].output_table);
    add(shared[i].output_projection, own[i].output_projection);
  }
  return names;
}

bool any_starts_with(const std::vector<std::string>& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [prefix](const std::string& name) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<ForeignTensor> foreign_tensors(WeightFormat format, const ModelConfig& model, int64_t vocab_size) {
  const Namer namer(format, model, vocab_size);
  const std::multimap<std::string, std::string> tied = tied_names(model, vocab_size);
  std::vector<ForeignTensor> tensors;
  for (const ParameterSpec& spec : parameter_specs(model, vocab_size)) {
    ForeignTensor tensor{.segue = spec.name, .shape = spec.shape, .names = {}, .parts = {}};
    namer.add_names(tensor, spec.name);
    const auto [begin, end] = tied.equal_range(spec.name);
    std::for_each(begin, end, [&](const auto& other) { namer.add_names(tensor, other.second); });
    if (tensor.names.empty()) throw ContractError("{} has no name for {}", traits_of(format).program, spec.name);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string_view frequencies_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kTransformerXl:
    case WeightFormat::kNvidia:
      return "pos_emb.inv_freq";
    case WeightFormat::kHuggingFace:
      return "transformer.pos_emb.inv_freq";
    case WeightFormat::kTransformerXlTf:
      return "";
  }
  throw ContractError("unknown format");
}

bool belongs_to_optimizer(WeightFormat format, std::string_view name) {
  if (format != WeightFormat::kTransformerXlTf) return false;
  return name.ends_with("/Adam") || name.ends_with("/Adam_1") || name == "beta1_power" || name == "beta2_power" ||
         name == "global_step";
}

WeightFormat format_of_names(const std::vector<std::string>& names, WeightFormat otherwise) {
  if (any_starts_with(names, "transformer/")) return WeightFormat::kTransformerXlTf;
  if (any_starts_with(names, "transformer.")) return WeightFormat::kHuggingFace;
  if (any_starts_with(names, "crit.out_layers_")) return WeightFormat::kNvidia;
  if (any_starts_with(names, "crit.out_layers.")) return WeightFormat::kTransformerXl;
  return otherwise;
}

}  // namespace segue
