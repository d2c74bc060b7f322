// Learned biases of buckets of distances (Raffel et al. 2020, section 2.1), as T5's decoder has them: the first half of
// the buckets stands for one distance each, the others for ranges that grow geometrically up to t5_max_distance, beyond
// which all distances share the last.
#include <algorithm>
#include <cmath>

#include "core/attention/position.h"
#include "core/config/layers.h"

namespace segue {

namespace {

int32_t bucket_of(int64_t distance, const PositionConfig& config) {
  const int64_t exact = config.t5_buckets / 2;
  if (distance < exact) return static_cast<int32_t>(distance);
  constexpr double kSlack = 1e-9;  // a whole number's logarithms may divide to a little less
  const auto first = static_cast<double>(exact);
  const double share =
      std::log(static_cast<double>(distance) / first) / std::log(static_cast<double>(config.t5_max_distance) / first);
  const double beyond = std::floor(share * static_cast<double>(config.t5_buckets - exact) + kSlack);
  return static_cast<int32_t>(std::min(exact + static_cast<int64_t>(beyond), config.t5_buckets - 1));
}

class T5Position : public Position {
 public:
  using Position::Position;

  void declare_shared(std::vector<ParameterSpec>& specs) const override {
    if (!model_.position.untie_r) declare_table("attention", specs);
  }

  void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    if (model_.position.untie_r) declare_table(prefix_of_layer(model_, layer) + "attention", specs);
  }

  // The bucket of every distance, [keys] int32.
  Value encode(Tape& tape, int64_t keys, int64_t /*clamp_len*/) const override {
    OwnedTensor buckets(DType::kInt32, {keys});
    for (int64_t d = 0; d < keys; ++d) buckets.as<int32_t>()[d] = bucket_of(d, model_.position);
    return {.data = tape.constant(buckets, DType::kInt32), .gradient = {}};
  }

  Value distance_biases(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding,
                        int64_t /*keys*/) const override {
    const std::string prefix = model_.position.untie_r ? prefix_of_layer(model_, layer) + "attention" : "attention";
    return bucket_bias(tape, encoding.data, parameters[prefix + ".buckets"]);
  }

 private:
  void declare_table(const std::string& prefix, std::vector<ParameterSpec>& specs) const {
    specs.push_back({prefix + ".buckets", {model_.position.t5_buckets, model_.n_head}});
  }
};

}  // namespace

PositionMaker make_t5_position;
std::unique_ptr<Position> make_t5_position(const ModelConfig& model) { return std::make_unique<T5Position>(model); }

}  // namespace segue
