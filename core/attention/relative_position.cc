// Relative positions of Transformer-XL (Dai et al. 2019, section 3.3): sinusoids of the distance, a projection per
// layer, and the two learned biases u and w that stand in for the query's absolute position.
#include "core/attention/position.h"
#include "core/attention/sinusoids.h"
#include "core/config/layers.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

class RelativePosition : public Position {
 public:
  using Position::Position;

  void declare_shared(std::vector<ParameterSpec>& specs) const override {
    if (!model_.position.untie_r) declare_biases("attention", specs);
  }

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    const std::string prefix = prefix_of_layer(model_, layer) + "attention";
    if (model_.position.untie_r) declare_biases(prefix, specs);
    specs.push_back({prefix + ".r", {model_.n_head * model_.d_head, model_.d_model}});
  }

  Value encode(Tape& tape, int64_t keys, int64_t clamp_len) const override {
    const OwnedTensor rows = sinusoids(distances_of(keys, clamp_len), model_.d_model);
    const Value table{.data = tape.constant(rows, tape.activations()), .gradient = {}};
    return dropout(tape, table, {.p = model_.dropout, .site = kPositionDropoutSite, .per_stream = false});
  }

  Value distances(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding) const override {
    return linear(tape, encoding, parameters[prefix_of_layer(model_, layer) + "attention.r"]);
  }

  Biases biases(Parameters& parameters, int64_t layer) const override {
    const std::string prefix = model_.position.untie_r ? prefix_of_layer(model_, layer) + "attention" : "attention";
    return {.u = parameters[prefix + ".u"], .w = parameters[prefix + ".w"]};
  }

 private:
  void declare_biases(const std::string& prefix, std::vector<ParameterSpec>& specs) const {
    specs.push_back({prefix + ".u", {model_.n_head, model_.d_head}});
    specs.push_back({prefix + ".w", {model_.n_head, model_.d_head}});
  }
};

}  // namespace

PositionMaker make_relative_position;
std::unique_ptr<Position> make_relative_position(const ModelConfig& model) {
  return std::make_unique<RelativePosition>(model);
}

}  // namespace segue
