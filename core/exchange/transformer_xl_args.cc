// The arguments' names, defaults and limits.
#include "core/exchange/transformer_xl_args.h"

#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"

namespace segue {

namespace {

constexpr int64_t kLongestFile = int64_t{1} << 20;
constexpr double kOriginalEpsilon = 1e-5;

// As MemTransformerLM's constructor has them; `batch`, `ext_len` and `adapt_inp` do not change the model.
struct Document {
  int64_t n_token = 0;
  bool tied = true;
  int64_t div_val = 1;
  int64_t tgt_len = 0;
  std::vector<int64_t> cutoffs;
  int64_t attn_type = 0;
  int64_t sample_softmax = -1;
  int64_t ext_len = 0;
  int64_t batch = 1;
  bool adapt_inp = false;
  ModelConfig model{.dropout = 0.0};
  void describe(JsonFields& fields);
  void describe_ignored(JsonFields& fields);
};

void Document::describe(JsonFields& fields) {
  fields.required("n_token", n_token,
                  {.meaning = "size of the vocabulary", .minimum = 2, .maximum = std::numeric_limits<int32_t>::max()});
  fields.required("n_layer", model.n_layer, {.meaning = "layers"});
  fields.required("n_head", model.n_head, {.meaning = "heads per layer"});
  fields.required("d_model", model.d_model, {.meaning = "width of the hidden states"});
  fields.required("d_head", model.d_head, {.meaning = "width of a head"});
  fields.required("d_inner", model.d_inner, {.meaning = "width inside the feed-forward network"});
  fields.optional("dropout", model.dropout, {.meaning = "probability of dropping an activation"});
  fields.optional("dropatt", model.dropatt, {.meaning = "probability of dropping an attention weight"});
  fields.optional("d_embed", model.d_embed, {.meaning = "width of the embedding table"});
  fields.optional("tied", tied, {.meaning = "the output layer uses the embedding's table"});
  fields.optional("div_val", div_val, {.meaning = "divisor of the embedding's width from cluster to cluster"});
  fields.optional("tie_projs", model.head.tie_projs, {.meaning = "the output layer uses the embedding's projection"});
  fields.optional("pre_lnorm", model.block.pre_lnorm, {.meaning = "layer norm before attention and feed-forward"});
  fields.required("tgt_len", tgt_len, {.meaning = "segment length", .unit = "tokens", .minimum = 1});
  fields.required("mem_len", model.mem_len, {.meaning = "memory length", .unit = "tokens"});
  fields.optional("cutoffs", cutoffs, {.meaning = "borders of the vocabulary's clusters"});
  fields.optional("same_length", model.visibility.same_length, {.meaning = "every query sees as many keys"});
  fields.optional("untie_r", model.position.untie_r, {.meaning = "every layer has its own biases u and v"});
  fields.optional("attn_type", attn_type, {.meaning = "kind of attention; 0: relative"});
  fields.optional("clamp_len", model.position.clamp_len, {.meaning = "distances beyond this one count as this one"});
  fields.optional("sample_softmax", sample_softmax, {.meaning = "negative samples of the training loss"});
  describe_ignored(fields);
}

void Document::describe_ignored(JsonFields& fields) {
  fields.optional("ext_len", ext_len, {.meaning = "extended context, a matter of evaluation"});
  fields.optional("batch", batch, {.meaning = "streams, a matter of training"});
  fields.optional("adapt_inp", adapt_inp, {.meaning = "without effect in the original"});
}

void check_supported(const Document& document, const std::string& source) {
  if (document.div_val != 1 || !document.cutoffs.empty() || document.sample_softmax > 0) {
    throw ConfigError(
        "{}: div_val, cutoffs, sample_softmax: expected 1, [] and at most 0 (a plain softmax), found {}, a list of {} "
        "and {}",
        source, document.div_val, document.cutoffs.size(), document.sample_softmax);
  }
  if (document.attn_type != 0) {
    throw ConfigError("{}: attn_type: expected 0 (relative attention), found {}", source, document.attn_type);
  }
  if (document.model.head.tie_projs.size() > 1) {
    throw ConfigError("{}: tie_projs: expected a list of at most 1 without cutoffs, found a list of {}", source,
                      document.model.head.tie_projs.size());
  }
  if (document.model.d_model % 2 != 0) {
    throw ConfigError("{}: d_model: expected an even number, found {}", source, document.model.d_model);
  }
}

// Sizes are judged by the description of the config: written and read again, in its words and with its limits.
void check_sizes(const ModelConfig& model, const std::string& source) {
  static_cast<void>(read_fields<ConfigError, ModelConfig>(Json(write_fields(model)), source));
}

}  // namespace

TransformerXlArguments read_transformer_xl_args(const std::filesystem::path& path) {
  const std::string source = path.string();
  auto document =
      read_fields<ConfigError, Document>(parse_json<ConfigError>(read_file(path, kLongestFile), source), source);
  check_supported(document, source);
  check_sizes(document.model, source);
  document.model.head.tie_weight = document.tied;
  document.model.head.tie_projs.resize(1, false);
  return {std::move(document.model), document.n_token, document.tgt_len};
}

void check_original_computes(const ModelConfig& model) {
  if (model.block.activation != ActivationKind::kRelu || model.block.layer_norm_epsilon != kOriginalEpsilon ||
      model.visibility.same_length_extra_key || model.memory.initial != InitialMemory::kEmpty) {
    throw ConfigError(
        "the original Transformer-XL has model.block.activation relu, layer_norm_epsilon {}, "
        "model.visibility.same_length_extra_key false and model.memory.initial empty; this model differs",
        kOriginalEpsilon);
  }
}

std::string transformer_xl_args_text(const TransformerXlArguments& arguments) {
  const ModelConfig& model = arguments.model;
  check_original_computes(model);
  Document document;
  document.model = model;
  document.model.d_embed = effective_d_embed(model);
  document.n_token = arguments.vocab_size;
  document.tied = model.head.tie_weight;
  document.tgt_len = arguments.tgt_len;
  return format_json(write_fields(document));
}

}  // namespace segue
