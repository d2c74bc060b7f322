// The keys of all formats in one description, as most of them are the same.
#include "core/convert/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "core/config/config.h"
#include "core/config/head_kind.h"
#include "core/config/memory_row.h"

namespace segue {

namespace {

constexpr int64_t kLongestFile = int64_t{1} << 20;
constexpr int64_t kUsualTgtLen = 128;
constexpr size_t kMostCutoffs = 64;
constexpr const char* kModelType = "transfo-xl";

// The content of a file, under the names of its format.
class Document {
 public:
  explicit Document(WeightFormat format) : format_(format) { model.dropout = 0.0; }

  void describe(JsonFields& fields) {
    describe_sizes(fields);
    describe_head(fields);
    describe_attention(fields);
    if (is(WeightFormat::kHuggingFace)) describe_hugging_face(fields);
    if (is(WeightFormat::kTransformerXl)) {
      fields.optional("batch", ignored_number_, {.meaning = "streams, a matter of training"});
    }
    if (is(WeightFormat::kTransformerXl) || is(WeightFormat::kNvidia)) {
      fields.optional("ext_len", ignored_number_, {.meaning = "extended context, a matter of evaluation"});
      fields.optional("adapt_inp", ignored_flag_, {.meaning = "without effect"});
    }
  }

  ModelConfig model;
  int64_t n_token = 0;
  int64_t tgt_len = 0;
  int64_t attn_type = 0;
  int64_t sample_softmax = -1;
  bool proj_share_all_but_first = false;

 private:
  bool is(WeightFormat format) const { return format_ == format; }

  template <typename T>
  void field(JsonFields& fields, std::string_view key, T& value, const FieldInfo& info) {
    is(WeightFormat::kHuggingFace) ? fields.required(key, value, info) : fields.optional(key, value, info);
  }

  void describe_sizes(JsonFields& fields) {
    const bool hugging_face = is(WeightFormat::kHuggingFace);
    fields.required(
        hugging_face ? "vocab_size" : "n_token", n_token,
        {.meaning = "size of the vocabulary", .minimum = 2, .maximum = std::numeric_limits<int32_t>::max()});
    fields.required("n_layer", model.n_layer, {.meaning = "layers"});
    fields.required("n_head", model.n_head, {.meaning = "heads per layer"});
    fields.required("d_model", model.d_model, {.meaning = "width of the hidden states"});
    fields.required("d_head", model.d_head, {.meaning = "width of a head"});
    fields.required("d_inner", model.d_inner, {.meaning = "width inside the feed-forward network"});
    field(fields, "d_embed", model.d_embed, {.meaning = "width of the embedding table"});
    fields.optional("dropout", model.dropout, {.meaning = "probability of dropping an activation"});
    fields.optional("dropatt", model.dropatt, {.meaning = "probability of dropping an attention weight"});
    const FieldInfo segment{.meaning = "segment length", .unit = "tokens", .minimum = 1};
    hugging_face ? fields.optional("tgt_len", tgt_len, segment) : fields.required("tgt_len", tgt_len, segment);
    fields.required("mem_len", model.mem_len, {.meaning = "memory length", .unit = "tokens"});
  }

  std::string_view tie_key() const {
    if (is(WeightFormat::kTransformerXl)) return "tied";
    return is(WeightFormat::kHuggingFace) ? "tie_word_embeddings" : "tie_weight";
  }

  void describe_head(JsonFields& fields) {
    field(fields, "div_val", model.head.div_val,
          {.meaning = "divisor of the embedding's width from cluster to cluster"});
    field(fields, "cutoffs", model.head.cutoffs, {.meaning = "borders of the vocabulary's clusters"});
    fields.optional(tie_key(), model.head.tie_weight, {.meaning = "the output layer uses the embedding's table"});
    fields.optional("tie_projs", model.head.tie_projs,
                    {.meaning = "per cluster: the output layer uses the embedding's projection"});
    const FieldInfo share{.meaning = "tie_projs is true for all clusters but the first"};
    if (is(WeightFormat::kTransformerXlTf) || is(WeightFormat::kHuggingFace)) {
      fields.optional("proj_share_all_but_first", proj_share_all_but_first, share);
    }
    if (is(WeightFormat::kTransformerXlTf)) {
      fields.optional("proj_same_dim", model.head.proj_same_dim,
                      {.meaning = "tables as wide as the hidden states have projections too"});
    } else {
      fields.optional("sample_softmax", sample_softmax, {.meaning = "negative samples of the training loss"});
    }
  }

  void describe_attention(JsonFields& fields) {
    field(fields, "same_length", model.visibility.same_length, {.meaning = "every query sees as many keys"});
    field(fields, "clamp_len", model.position.clamp_len, {.meaning = "distances beyond this one count as this one"});
    if (!is(WeightFormat::kNvidia)) {
      field(fields, "untie_r", model.position.untie_r, {.meaning = "every layer has its own biases u and w"});
    }
    if (is(WeightFormat::kTransformerXlTf)) return;
    fields.optional("pre_lnorm", model.block.pre_lnorm, {.meaning = "layer norm before attention and feed-forward"});
    fields.optional("attn_type", attn_type, {.meaning = "kind of attention; 0: relative"});
  }

  void describe_hugging_face(JsonFields& fields) {
    fields.optional("layer_norm_epsilon", model.block.layer_norm_epsilon, {.meaning = "of the layer norms"});
    fields.optional("init", model.init.kind, {.meaning = "distribution of weights at the start"});
    fields.optional("init_range", model.init.init_range,
                    {.meaning = "uniform weights lie between minus this and this"});
    fields.optional("init_std", model.init.init_std, {.meaning = "standard deviation of normal weights"});
    fields.optional("proj_init_std", model.init.proj_init_std, {.meaning = "standard deviation of projections"});
  }

  WeightFormat format_;
  int64_t ignored_number_ = 0;
  bool ignored_flag_ = false;
};

// Python's None says what an absent key says.
void drop_nulls(Json& json) {
  for (auto entry = json.begin(); entry != json.end();) entry = entry->is_null() ? json.erase(entry) : std::next(entry);
}

// A config.json has keys for tokenizers, generation and the program itself. Returns them as a message may name them.
std::vector<std::string> drop_unknown(Json& json, WeightFormat format) {
  Document prototype(format);
  const OrderedJson known = write_described([&prototype](JsonFields& fields) { prototype.describe(fields); });
  std::vector<std::string> dropped;
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) dropped.push_back(key);
  }
  for (std::string& key : dropped) {
    json.erase(key);
    key = join_json_path("", key);
  }
  return dropped;
}

// Other names of keys: of older and newer versions of Hugging Face's config, and of scripts that copy them.
void take_aliases(Json& json, WeightFormat format, const std::string& source) {
  struct Alias {
    std::string_view other;
    std::string_view key;
    bool may_differ = false;  // the program itself goes by the key
  };
  static constexpr Alias kHuggingFace[] = {
      {"n_token", "vocab_size"},        {"vocab_size_or_config_json_file", "vocab_size"},
      {"hidden_size", "d_model"},       {"num_attention_heads", "n_head"},
      {"num_hidden_layers", "n_layer"}, {"tie_weight", "tie_word_embeddings", true}};
  static constexpr Alias kOthers[] = {{"vocab_size", "n_token"}};
  const std::span<const Alias> aliases =
      format == WeightFormat::kHuggingFace ? std::span<const Alias>(kHuggingFace) : kOthers;
  for (const auto& [other, key, may_differ] : aliases) {
    const auto found = json.find(other);
    if (found == json.end()) continue;
    const auto known = json.find(key);
    if (known != json.end() && *known != *found && !may_differ)
      throw ConfigError("{}: {}: expected the {} of {}, found {}", source, other, describe_json(*known), key,
                        describe_json(*found));
    const Json value = known == json.end() ? *found : *known;
    json.erase(std::string(other));
    json[std::string(key)] = value;
  }
}

// The program's own names for the model; the first of them must be right.
void take_model_type(Json& json, const std::string& source) {
  const auto found = json.find("model_type");
  if (found != json.end() && *found != kModelType)
    throw ConfigError("{}: model_type: expected \"{}\", found {}", source, kModelType, describe_json(*found));
  for (const char* key : {"model_type", "architectures", "adaptive"}) json.erase(key);
}

void check_cutoffs(const Document& document, const std::string& source) {
  const std::vector<int64_t>& cutoffs = document.model.head.cutoffs;
  if (cutoffs.size() > kMostCutoffs)
    throw ConfigError("{}: cutoffs: expected at most {} numbers, found {}", source, kMostCutoffs, cutoffs.size());
  int64_t last = 0;
  for (const int64_t cutoff : cutoffs) {
    if (cutoff <= last || cutoff >= document.n_token)
      throw ConfigError("{}: cutoffs: expected increasing numbers from 1 to {}, found {} after {}", source,
                        document.n_token - 1, cutoff, last);
    last = cutoff;
  }
}

void check_supported(const Document& document, const std::string& source) {
  if (document.attn_type != 0)
    throw ConfigError("{}: attn_type: expected 0 (relative attention), found {}", source, document.attn_type);
  if (document.sample_softmax > 0)
    throw ConfigError("{}: sample_softmax: expected at most 0 (the whole softmax), found {}", source,
                      document.sample_softmax);
  if (document.model.d_model % 2 != 0)
    throw ConfigError("{}: d_model: expected an even number, found {}", source, document.model.d_model);
  check_cutoffs(document, source);
}

// TensorFlow's code shares the table in any case, and without clusters the projection too.
void check_tensorflow(Document& document, const std::string& source) {
  HeadConfig& head = document.model.head;
  if (!head.tie_weight) throw ConfigError("{}: tie_weight: expected true, found false", source);
  if (!head.cutoffs.empty()) return;
  if (head.div_val != 1) throw ConfigError("{}: div_val: expected 1 without cutoffs, found {}", source, head.div_val);
  head.tie_projs = {true};
}

void fill_tie_projs(Document& document, bool given, const std::string& source) {
  std::vector<bool>& tied = document.model.head.tie_projs;
  const size_t clusters = document.model.head.cutoffs.size() + 1;
  if (tied.size() > clusters)
    throw ConfigError("{}: tie_projs: expected a list of at most {} with {} cutoffs, found a list of {}", source,
                      clusters, clusters - 1, tied.size());
  if (!given && document.proj_share_all_but_first) {
    tied.assign(clusters, true);
    tied.front() = false;
  }
  tied.resize(clusters, false);
}

// Sizes are judged by the description of the config: written and read again, in its words and with its limits.
void check_sizes(const ModelConfig& model, const std::string& source) {
  static_cast<void>(read_fields<ConfigError, ModelConfig>(Json(write_fields(model)), source));
  check_model(model, source);
}

// Sets what the program does without being asked.
void apply_traits(WeightFormat format, ModelConfig& model) {
  const FormatTraits& traits = traits_of(format);
  HeadConfig& head = model.head;
  head.kind = head.cutoffs.empty() && head.div_val == 1 ? HeadKind::kSoftmax : HeadKind::kAdaptive;
  if (head.kind == HeadKind::kAdaptive) {
    head.cluster_order = traits.cluster_order;
  } else {
    head.proj_same_dim = true;
  }
  model.memory.initial = traits.initial_memory;
  model.visibility.same_length_extra_key = traits.same_length_extra_key;
  if (format != WeightFormat::kHuggingFace) model.block.layer_norm_epsilon = traits.layer_norm_epsilon;
}

std::vector<int64_t> widths_of(const ModelConfig& model) {
  std::vector<int64_t> widths{effective_d_embed(model)};
  for (size_t i = 0; i < model.head.cutoffs.size(); ++i) widths.push_back(widths.back() / model.head.div_val);
  return widths;
}

bool lacks_projection(const ModelConfig& model) {
  if (model.head.div_val == 1 || model.head.proj_same_dim) return false;
  const std::vector<int64_t> widths = widths_of(model);
  return std::find(widths.begin(), widths.end(), model.d_model) != widths.end();
}

// The keys that the formats can state or need not state, as pointers into a model's config; everything else has the
// value of a config that does not name it.
constexpr std::string_view kConverted[] = {"/n_layer",
                                           "/n_head",
                                           "/d_model",
                                           "/d_head",
                                           "/d_inner",
                                           "/d_embed",
                                           "/mem_len",
                                           "/dropout",
                                           "/dropatt",
                                           "/init",
                                           "/position/clamp_len",
                                           "/position/untie_r",
                                           "/visibility/same_length",
                                           "/visibility/same_length_extra_key",
                                           "/memory/initial",
                                           "/block/pre_lnorm",
                                           "/block/layer_norm_epsilon",
                                           "/head"};

bool is_converted(std::string_view pointer) {
  return std::any_of(std::begin(kConverted), std::end(kConverted), [pointer](std::string_view known) {
    return pointer.starts_with(known) && (pointer.size() == known.size() || pointer[known.size()] == '/');
  });
}

std::string key_of(std::string_view pointer) {
  std::string key(pointer.substr(1));
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

std::string word_of(const OrderedJson& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

OrderedJson hugging_face_head() {
  return {{"architectures", {"TransfoXLLMHeadModel"}}, {"model_type", kModelType}, {"adaptive", true}};
}

}  // namespace

ForeignArguments parse_arguments(WeightFormat format, std::string_view text, std::string_view source_name) {
  const std::string source(source_name);
  Json json = parse_json<ConfigError>(text, source, {.max_bytes = kLongestFile});
  std::vector<std::string> notes;
  Document document(format);
  if (json.is_object()) {
    drop_nulls(json);
    take_aliases(json, format, source);
  }
  if (format == WeightFormat::kHuggingFace && json.is_object()) {
    take_model_type(json, source);
    const std::vector<std::string> dropped = drop_unknown(json, format);
    if (!dropped.empty()) notes.push_back(fmt::format("{}: passed over {}", source, fmt::join(dropped, ", ")));
    document.proj_share_all_but_first = true;
  }
  read_described(
      json, source, &raise_as<ConfigError>, ReadMode::kWhole,
      [&document](JsonFields& fields) { document.describe(fields); },
      [format](JsonFields& fields) { Document(format).describe(fields); });
  check_supported(document, source);
  if (document.tgt_len == 0) {
    document.tgt_len = kUsualTgtLen;
    notes.push_back(fmt::format("{}: has no tgt_len; {} is used", source, kUsualTgtLen));
  }
  fill_tie_projs(document, json.contains("tie_projs"), source);
  if (format == WeightFormat::kTransformerXlTf) check_tensorflow(document, source);
  apply_traits(format, document.model);
  check_sizes(document.model, source);
  return {std::move(document.model), document.n_token, document.tgt_len, std::move(notes)};
}

ForeignArguments read_arguments(WeightFormat format, const std::filesystem::path& path) {
  return parse_arguments(format, read_file(path, kLongestFile), path.string());
}

void check_exportable(WeightFormat format, const ModelConfig& model) {
  const FormatTraits& traits = traits_of(format);
  const auto refuse = [&traits](std::string_view key, const auto& expected, const auto& has) {
    throw ConfigError("{} computes model.{} {} only, this model has {}", traits.program, key, expected, has);
  };
  if (!model.layers.empty()) refuse("layers", "[]", fmt::format("a list of {}", model.layers.size()));
  const OrderedJson usual = write_fields(ModelConfig{}).flatten();
  ModelConfig weights = model;
  weights.memory.kind = row_of(model.memory.kind).has_weights_of.value_or(model.memory.kind);
  const OrderedJson found = write_fields(weights).flatten();
  for (const auto& [pointer, value] : found.items()) {
    if (is_converted(pointer) || usual.value(pointer, OrderedJson()) == value) continue;
    refuse(key_of(pointer), word_of(usual.value(pointer, OrderedJson())), word_of(value));
  }
  const BlockConfig& block = model.block;
  if (format != WeightFormat::kHuggingFace && block.layer_norm_epsilon != traits.layer_norm_epsilon)
    refuse("block.layer_norm_epsilon", traits.layer_norm_epsilon, block.layer_norm_epsilon);
  if (model.visibility.same_length && model.visibility.same_length_extra_key != traits.same_length_extra_key)
    refuse("visibility.same_length_extra_key", traits.same_length_extra_key, !traits.same_length_extra_key);
  if (model.position.untie_r && !traits.biases_per_layer) refuse("position.untie_r", false, true);
  if (lacks_projection(model)) refuse("head.proj_same_dim", true, false);
}

std::string arguments_text(WeightFormat format, const ForeignArguments& arguments) {
  check_exportable(format, arguments.model);
  Document document(format);
  document.model = arguments.model;
  document.model.d_embed = effective_d_embed(arguments.model);
  document.model.head.tie_projs.resize(arguments.model.head.cutoffs.size() + 1, false);
  document.n_token = arguments.vocab_size;
  document.tgt_len = arguments.tgt_len;
  OrderedJson json = format == WeightFormat::kHuggingFace ? hugging_face_head() : OrderedJson::object();
  json.update(write_described([&document](JsonFields& fields) { document.describe(fields); }));
  json.erase("proj_share_all_but_first");  // tie_projs says it
  return format_json(json);
}

}  // namespace segue
