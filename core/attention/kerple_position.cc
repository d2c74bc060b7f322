// The logarithmic variant of KERPLE (Chi et al. 2022): every head takes r1 log(1 + r2 distance) from each score, with
// r1 and r2 learned as their logarithms, which keep them above zero. Both begin as 1.
#include <fmt/format.h>

#include "core/attention/position.h"
#include "core/config/layers.h"

namespace segue {

namespace {

class KerplePosition : public Position {
 public:
  using Position::Position;

  void declare_shared(std::vector<ParameterSpec>& specs) const override {
    if (!model_.position.untie_r) declare_curves("attention", specs);
  }

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    if (model_.position.untie_r) declare_curves(prefix_of_layer(model_, layer) + "attention", specs);
  }

  Value distance_biases(Tape& tape, Parameters& parameters, int64_t layer, const Value& /*encoding*/,
                        int64_t keys) const override {
    const std::string prefix = model_.position.untie_r ? prefix_of_layer(model_, layer) + "attention" : "attention";
    return distance_curve(tape,
                          {.formula = kernels::CurveFormula::kLogarithm,
                           .alpha = parameters[prefix + ".log_r1"],
                           .beta = parameters[prefix + ".log_r2"]},
                          keys);
  }

 private:
  void declare_curves(const std::string& prefix, std::vector<ParameterSpec>& specs) const {
    for (const std::string_view name : {".log_r1", ".log_r2"})
      specs.push_back({fmt::format("{}{}", prefix, name), {model_.n_head}, Initializer::kZero});
  }
};

}  // namespace

PositionMaker make_kerple_position;
std::unique_ptr<Position> make_kerple_position(const ModelConfig& model) {
  return std::make_unique<KerplePosition>(model);
}

}  // namespace segue
