// The correspondence, tensor by tensor.
#include "core/exchange/transformer_xl_names.h"

#include <fmt/format.h>

#include <utility>

namespace segue {

namespace {

class NameList {
 public:
  explicit NameList(const ModelConfig& model)
      : model_(model), width_(model.d_model), heads_width_(model.n_head * model.d_head) {}

  void add(std::string segue, std::vector<std::string> original, const Shape& shape) {
    list_.push_back({std::move(segue), std::move(original), shape});
  }

  void add_biases(const std::string& segue, const std::string& original) {
    add(segue + "attention.u", {original + "r_w_bias"}, {model_.n_head, model_.d_head});
    add(segue + "attention.w", {original + "r_r_bias"}, {model_.n_head, model_.d_head});
  }

  void add_norm(const std::string& segue, const std::string& original) {
    add(segue + ".gain", {original + ".weight"}, {width_});
    add(segue + ".bias", {original + ".bias"}, {width_});
  }

  void add_layer(int64_t layer) {
    const std::string ours = fmt::format("layers.{}.", layer);
    const std::string attention = ours + "dec_attn.";
    const std::string feed_forward = ours + "pos_ff.";
    if (model_.position.untie_r) add_biases(ours, attention);
    add(ours + "attention.qkv", {attention + "qkv_net.weight"}, {3 * heads_width_, width_});
    add(ours + "attention.r", {attention + "r_net.weight"}, {heads_width_, width_});
    add(ours + "attention.output", {attention + "o_net.weight"}, {width_, heads_width_});
    add_norm(ours + "attention.norm", attention + "layer_norm");
    add(ours + "feed_forward.w1", {feed_forward + "CoreNet.0.weight"}, {model_.d_inner, width_});
    add(ours + "feed_forward.b1", {feed_forward + "CoreNet.0.bias"}, {model_.d_inner});
    add(ours + "feed_forward.w2", {feed_forward + "CoreNet.3.weight"}, {width_, model_.d_inner});
    add(ours + "feed_forward.b2", {feed_forward + "CoreNet.3.bias"}, {width_});
    add_norm(ours + "feed_forward.norm", feed_forward + "layer_norm");
  }

  // Either both sides of the model hold the tensor under two names, or each has its own.
  void add_pair(const std::string& embedding, const std::string& head, const std::string& original_embedding,
                const std::string& original_head, bool tied, const Shape& shape) {
    if (tied) {
      add(embedding, {original_embedding, original_head}, shape);
    } else {
      add(embedding, {original_embedding}, shape);
      add(head, {original_head}, shape);
    }
  }

  std::vector<TensorNames> take() { return std::move(list_); }

 private:
  const ModelConfig& model_;
  int64_t width_;
  int64_t heads_width_;
  std::vector<TensorNames> list_;
};

}  // namespace

std::vector<TensorNames> transformer_xl_names(const ModelConfig& model, int64_t vocab_size) {
  const int64_t d_embed = effective_d_embed(model);
  NameList names(model);
  names.add_pair("embedding.table", "head.table", "word_emb.emb_layers.0.weight", "crit.out_layers.0.weight",
                 model.head.tie_weight, {vocab_size, d_embed});
  if (d_embed != model.d_model) {
    names.add_pair("embedding.projection", "head.projection", "word_emb.emb_projs.0", "crit.out_projs.0",
                   !model.head.tie_projs.empty() && model.head.tie_projs[0], {model.d_model, d_embed});
  }
  if (!model.position.untie_r) names.add_biases("", "");
  for (int64_t layer = 0; layer < model.n_layer; ++layer) names.add_layer(layer);
  names.add("head.bias", {"crit.out_layers.0.bias"}, {vocab_size});
  return names.take();
}

}  // namespace segue
