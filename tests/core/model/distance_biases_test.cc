// Biases by distance, read from weights: by their formula where they are fixed, by their tables where they are learned.
#include "core/model/distance_biases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/position_kind.h"
#include "core/model/parameter_specs.h"

namespace segue {
namespace {

constexpr int64_t kVocabulary = 16;

ModelConfig model_of(PositionKind kind) {
  ModelConfig model{.n_layer = 2, .n_head = 2, .d_model = 8, .d_head = 4, .d_inner = 8, .mem_len = 4};
  model.position.kind = kind;
  return model;
}

Parameters draw_parameters(const ModelConfig& model) {
  Parameters parameters(parameter_specs(model, kVocabulary));
  parameters.initialize(model.init, 5);
  return parameters;
}

TEST(DistanceBiases, OfAlibiAreItsSlopesInAllLayers) {
  const ModelConfig model = model_of(PositionKind::kAlibi);
  Parameters parameters = draw_parameters(model);
  const DistanceBiases biases = distance_biases(model, parameters, 6);
  ASSERT_EQ(biases.size(), 1);
  ASSERT_EQ(biases[0].size(), 2);
  for (size_t head = 0; head < 2; ++head) {
    ASSERT_EQ(biases[0][head].size(), 6);
    for (size_t d = 0; d < 6; ++d)
      EXPECT_FLOAT_EQ(biases[0][head][d], -std::exp2(head == 0 ? -4.0F : -8.0F) * static_cast<float>(d));
  }
}

// Distances 0 to 3 have buckets of their own, 4 and 5 share the next.
TEST(DistanceBiases, OfBucketsAreTheTablesOfEachLayer) {
  ModelConfig model = model_of(PositionKind::kT5);
  model.position.t5_buckets = 8;
  model.position.t5_max_distance = 16;
  for (const bool untie_r : {false, true}) {
    model.position.untie_r = untie_r;
    Parameters parameters = draw_parameters(model);
    const DistanceBiases biases = distance_biases(model, parameters, 6);
    ASSERT_EQ(biases.size(), untie_r ? 2 : 1);
    for (size_t layer = 0; layer < biases.size(); ++layer) {
      const std::string name = untie_r ? "layers." + std::to_string(layer) + ".attention.buckets" : "attention.buckets";
      const float* table = parameters[name].value.as<float>();
      for (size_t head = 0; head < 2; ++head) {
        for (size_t d = 0; d < 6; ++d) EXPECT_EQ(biases[layer][head][d], table[2 * std::min<size_t>(d, 4) + head]);
      }
    }
  }
}

// As drawn, r1 and r2 are 1.
TEST(DistanceBiases, OfKerpleAreTheCurvesOfEachLayer) {
  ModelConfig model = model_of(PositionKind::kKerple);
  Parameters parameters = draw_parameters(model);
  const DistanceBiases drawn = distance_biases(model, parameters, 6);
  ASSERT_EQ(drawn.size(), 1);
  ASSERT_EQ(drawn[0].size(), 2);
  for (const std::vector<float>& head : drawn[0]) {
    ASSERT_EQ(head.size(), 6);
    for (size_t d = 0; d < 6; ++d) EXPECT_FLOAT_EQ(head[d], -std::log1p(static_cast<float>(d)));
  }
  model.position.untie_r = true;
  Parameters untied = draw_parameters(model);
  untied["layers.1.attention.log_r1"].value.as<float>()[0] = std::log(3.0F);
  untied["layers.1.attention.log_r2"].value.as<float>()[0] = std::log(0.5F);
  const DistanceBiases of_layers = distance_biases(model, untied, 6);
  ASSERT_EQ(of_layers.size(), 2);
  EXPECT_EQ(of_layers[0], drawn[0]);
  EXPECT_EQ(of_layers[1][1], drawn[0][1]);
  for (size_t d = 0; d < 6; ++d) EXPECT_FLOAT_EQ(of_layers[1][0][d], -3.0F * std::log1p(0.5F * static_cast<float>(d)));
}

TEST(DistanceBiases, LayersOfOtherKindsHaveNoHeads) {
  ModelConfig model = model_of(PositionKind::kRope);
  model.layers = {{.only = {1}, .position = PositionConfig{.kind = PositionKind::kAlibi}}};
  Parameters parameters = draw_parameters(model);
  const DistanceBiases biases = distance_biases(model, parameters, 6);
  ASSERT_EQ(biases.size(), 2);
  EXPECT_TRUE(biases[0].empty());
  EXPECT_EQ(biases[1].size(), 2);
}

TEST(DistanceBiases, OtherKindsHaveNone) {
  const ModelConfig model = model_of(PositionKind::kRelative);
  Parameters parameters = draw_parameters(model);
  EXPECT_FALSE(has_distance_biases(model));
  EXPECT_TRUE(distance_biases(model, parameters, 6).empty());
}

}  // namespace
}  // namespace segue
