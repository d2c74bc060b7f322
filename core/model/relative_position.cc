// Relative positions of Transformer-XL (Dai et al. 2019, section 3.3): sinusoids of the distance, a projection per
// layer, and the two learned biases u and w that stand in for the query's absolute position.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/dropout_sites.h"
#include "core/model/position.h"
#include "core/model/visibility.h"

namespace segue {

namespace {

// R[p] = [sin(p * f_0) ... sin(p * f_{D/2-1}), cos(p * f_0) ... cos(p * f_{D/2-1})], f_t = 10000^(-2t/D).
OwnedTensor sinusoids(int64_t distances, int64_t d_model) {
  OwnedTensor table(DType::kFloat32, {distances, d_model});
  float* row = table.as<float>();
  const int64_t half = d_model / 2;
  for (int64_t p = 0; p < distances; ++p, row += d_model) {
    for (int64_t t = 0; t < half; ++t) {
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(t) / static_cast<double>(d_model));
      row[t] = static_cast<float>(std::sin(angle));
      row[half + t] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

class RelativePosition : public Position {
 public:
  explicit RelativePosition(ModelConfig model) : model_(std::move(model)) {}

  void declare_shared(std::vector<ParameterSpec>& specs) const override {
    if (!model_.position.untie_r) declare_biases("attention", specs);
  }

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    const std::string prefix = fmt::format("layers.{}.attention", layer);
    if (model_.position.untie_r) declare_biases(prefix, specs);
    specs.push_back({prefix + ".r", {model_.n_head * model_.d_head, model_.d_model}});
  }

  bool is_absolute() const override { return false; }

  Value enter(Tape& /*tape*/, Parameters& /*parameters*/, const Value& embedded, Slot /*places*/) const override {
    return embedded;
  }

  // A distance beyond clamp_len is encoded as clamp_len, so rows beyond it are not needed.
  Value encode(Tape& tape, int64_t keys) const override {
    const int64_t clamp_len = model_.position.clamp_len;
    const int64_t rows = clamp_len > 0 ? std::min(keys, clamp_len + 1) : keys;
    const Value table{.data = tape.constant(sinusoids(rows, model_.d_model), tape.activations()), .gradient = {}};
    return dropout(tape, table, {.p = model_.dropout, .site = kPositionDropoutSite, .per_stream = false});
  }

  Value distances(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding) const override {
    return linear(tape, encoding, parameters[fmt::format("layers.{}.attention.r", layer)]);
  }

  Value attend(Tape& tape, Parameters& parameters, int64_t layer, const Value& distances, const Value& qkv,
               const Value& memory_kv) const override {
    const std::string biases = model_.position.untie_r ? fmt::format("layers.{}.attention", layer) : "attention";
    return relative_attention(
        tape, {.qkv = qkv,
               .memory_kv = memory_kv,
               .r = distances,
               .u = parameters[biases + ".u"],
               .w = parameters[biases + ".w"],
               .window = visible_window(model_),
               .dropatt = {.p = model_.dropatt, .site = layer_dropout_site(layer, LayerDropout::kAttentionScores)}});
  }

 private:
  void declare_biases(const std::string& prefix, std::vector<ParameterSpec>& specs) const {
    specs.push_back({prefix + ".u", {model_.n_head, model_.d_head}});
    specs.push_back({prefix + ".w", {model_.n_head, model_.d_head}});
  }

  ModelConfig model_;
};

}  // namespace

std::unique_ptr<Position> make_position(const ModelConfig& model) {
  switch (model.position.kind) {
    case PositionKind::kRelative:
      return std::make_unique<RelativePosition>(model);
  }
  throw ContractError("unknown position kind");
}

}  // namespace segue
