// Relative positions by learned rows (Shaw et al. 2018, equation 4): each layer adds to a key the row of its distance
// from the query, q · (k + a[distance]) / sqrt(H). Values get none. Distances are those back to earlier keys only.
#include <numeric>

#include "core/attention/position.h"
#include "core/config/layers.h"

namespace segue {

namespace {

class ShawPosition : public Position {
 public:
  using Position::Position;

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    specs.push_back({table_name(layer), {model_.position.max_positions, model_.n_head * model_.d_head}});
  }

  // The distances themselves, int32.
  Value encode(Tape& tape, int64_t keys, int64_t clamp_len) const override {
    OwnedTensor distances(DType::kInt32, {distances_of(keys, clamp_len)});
    std::iota(distances.as<int32_t>(), distances.as<int32_t>() + distances.shape()[0], 0);
    return {.data = tape.constant(distances, DType::kInt32), .gradient = {}};
  }

  Value distances(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding) const override {
    return embed(tape, encoding.data, parameters[table_name(layer)], {});
  }

 private:
  std::string table_name(int64_t layer) const { return prefix_of_layer(model_, layer) + "attention.distances"; }
};

}  // namespace

PositionMaker make_shaw_position;
std::unique_ptr<Position> make_shaw_position(const ModelConfig& model) { return std::make_unique<ShawPosition>(model); }

}  // namespace segue
