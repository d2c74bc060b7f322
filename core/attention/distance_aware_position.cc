// Distance-aware attention (DA-Transformer, Wu et al. 2021): every head of every layer multiplies its rectified scores
// by a learned curve of the distance. It begins as 1 at every distance.
#include <fmt/format.h>

#include "core/attention/position.h"
#include "core/config/layers.h"

namespace segue {

namespace {

class DistanceAwarePosition : public Position {
 public:
  using Position::Position;

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    for (const std::string_view name : {"alpha", "beta"})
      specs.push_back(
          {fmt::format("{}attention.{}", prefix_of_layer(model_, layer), name), {model_.n_head}, Initializer::kZero});
  }

  Value distance_gains(Tape& tape, Parameters& parameters, int64_t layer, int64_t keys) const override {
    const std::string prefix = prefix_of_layer(model_, layer) + "attention.";
    return distance_curve(tape,
                          {.formula = kernels::CurveFormula::kSigmoid,
                           .alpha = parameters[prefix + "alpha"],
                           .beta = parameters[prefix + "beta"]},
                          keys);
  }
};

}  // namespace

PositionMaker make_distance_aware_position;
std::unique_ptr<Position> make_distance_aware_position(const ModelConfig& model) {
  return std::make_unique<DistanceAwarePosition>(model);
}

}  // namespace segue
