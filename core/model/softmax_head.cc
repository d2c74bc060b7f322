// The plain softmax over the whole vocabulary, with optional projections between d_embed and d_model.
#include <cmath>

#include "core/model/dropout_sites.h"
#include "core/model/head.h"

namespace segue {

namespace {

class SoftmaxHead : public Head {
 public:
  SoftmaxHead(const ModelConfig& model, int64_t vocab_size)
      : model_(model), vocab_size_(vocab_size), d_embed_(effective_d_embed(model)) {}

  void declare_embedding(std::vector<ParameterSpec>& specs) const override {
    specs.push_back({"embedding.table", {vocab_size_, d_embed_}});
    if (projects()) specs.push_back({"embedding.projection", {model_.d_model, d_embed_}, Initializer::kProjection});
  }

  void declare_output(std::vector<ParameterSpec>& specs) const override {
    if (!model_.head.tie_weight) specs.push_back({"head.table", {vocab_size_, d_embed_}});
    if (projects() && !ties_projection()) {
      specs.push_back({"head.projection", {model_.d_model, d_embed_}, Initializer::kProjection});
    }
    specs.push_back({"head.bias", {vocab_size_}, Initializer::kZero});
  }

  Value embed_tokens(Tape& tape, Parameters& parameters, Slot tokens) const override {
    const auto scale = static_cast<float>(std::sqrt(static_cast<double>(model_.d_model)));
    const DropoutSite site{.p = model_.dropout, .site = kEmbeddingDropoutSite};
    if (!projects()) return embed(tape, tokens, parameters["embedding.table"], scale, site);
    const Value rows = embed(tape, tokens, parameters["embedding.table"], scale, {});
    return dropout(tape, linear(tape, rows, parameters["embedding.projection"]), site);
  }

  Slot loss(Tape& tape, Parameters& parameters, const Value& hidden, Slot targets) const override {
    Value x = hidden;
    if (projects()) {
      x = linear_transposed(tape, x, parameters[ties_projection() ? "embedding.projection" : "head.projection"]);
    }
    const Value logits = linear(tape, x, parameters[model_.head.tie_weight ? "embedding.table" : "head.table"]);
    return cross_entropy(tape, logits, parameters["head.bias"], targets);
  }

 private:
  bool projects() const { return d_embed_ != model_.d_model; }
  bool ties_projection() const { return model_.head.tie_projs.at(0); }

  ModelConfig model_;
  int64_t vocab_size_;
  int64_t d_embed_;
};

}  // namespace

std::unique_ptr<Head> make_head(const ModelConfig& model, int64_t vocab_size) {
  switch (model.head.kind) {
    case HeadKind::kSoftmax:
      return std::make_unique<SoftmaxHead>(model, vocab_size);
  }
  throw ContractError("unknown head kind");
}

}  // namespace segue
