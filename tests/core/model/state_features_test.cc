// States that equal attention: exactly, or as estimates that come closer the more features there are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kStreams = 3, kLength = 24;

ModelConfig softmax_attention() {
  ModelConfig model = small_model();
  model.d_head = 8;
  model.mem_len = 0;
  model.position.kind = PositionKind::kNone;
  return model;
}

ModelConfig performer(int64_t features) {
  ModelConfig model = softmax_attention();
  model.score = {.kind = ScoreKind::kState,
                 .feature = StateFeature::kPerformer,
                 .random_features = features,
                 .unit_keys = false,
                 .decay = StateDecay::kNone,
                 .erases = false,
                 .strength = StateStrength::kFull,
                 .output_norm = StateNorm::kWeights,
                 .output_gate = false};
  return model;
}

// The variance of an estimate grows as the exponential of the squared length of a query and a key together: with short
// ones a few hundred features find the mean, and the error falls as that of means does.
void shorten_queries_and_keys(ModelProblem& attention) {
  const int64_t width = attention.model.config().n_head * attention.model.config().d_head;
  for (int64_t layer = 0; layer < attention.model.config().n_layer; ++layer) {
    const TensorView qkv = attention.parameters["layers." + std::to_string(layer) + ".attention.qkv"].value;
    for (int64_t i = 0; i < 2 * width * qkv.shape[1]; ++i) qkv.as<float>()[i] *= 0.2F;
  }
}

// Gives `to` the weights that `from` has under the same names, and queries, keys and values of each layer.
void take_over(ModelProblem& from, ModelProblem& to) {
  const int64_t width = from.model.config().n_head * from.model.config().d_head;
  for (size_t i = 0; i < to.parameters.specs().size(); ++i) {
    const std::string& name = to.parameters.specs()[i].name;
    if (from.parameters.contains(name)) {
      to.parameters.upload(to.parameters.values(), i, from.parameters[name].value);
      continue;
    }
    const size_t part = std::string("qkv").find(name.back());
    if (!name.ends_with(std::string("attention.") + name.back()) || part == std::string::npos) continue;
    const Parameter qkv = from.parameters[name.substr(0, name.size() - 1) + "qkv"];
    to.parameters.upload(to.parameters.values(), i, qkv.rows(static_cast<int64_t>(part) * width, width).value);
  }
}

std::vector<float> losses(ModelProblem& problem) {
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kStreams);
  return problem.run(engine, 0, kLength, *memory);
}

// By how much losses are off those of softmax attention with the same weights, in the mean over tokens, of each draw.
std::vector<double> errors_with(int64_t features, const std::vector<float>& expected, ModelProblem& attention) {
  constexpr uint64_t kDraws = 8;
  ModelProblem problem(performer(features), kStreams, kLength);
  take_over(attention, problem);
  std::vector<double> errors;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    problem.parameters.redraw(11, draw);
    const std::vector<float> found = losses(problem);
    double error = 0.0;
    for (size_t i = 0; i < found.size(); ++i) error += std::abs(found[i] - expected[i]);
    errors.push_back(error / static_cast<double>(expected.size()));
  }
  return errors;
}

// The error of an estimate falls with the root of the number of what it is the mean of; benchmarks/feature_error draws
// the errors that are recorded here.
TEST(StateFeatures, PerformerComesCloserToSoftmaxByTheRootOfItsFeatures) {
  ModelProblem attention(softmax_attention(), kStreams, kLength);
  shorten_queries_and_keys(attention);
  const std::vector<float> expected = losses(attention);
  std::map<int64_t, double> means;
  for (int64_t features = 4; features <= 256; features *= 2) {
    const std::vector<double> errors = errors_with(features, expected, attention);
    RecordProperty("errors_with_" + std::to_string(features), fmt::format("{:.6f}", fmt::join(errors, " ")));
    means[features] = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    // a half, but for the spread of a few draws
    if (features >= 16) {
      EXPECT_LT(means[features], 0.75 * means[features / 4]) << features;
    }
  }
  EXPECT_NEAR(std::log2(means[4] / means[256]) / std::log2(256.0 / 4.0), 0.5, 0.1);  // that spread, of both ends
}

// With one token to see, whatever weighs it, an average is its value.
TEST(StateFeatures, AnAverageOfOneTokenIsItsValue) {
  ModelProblem attention(softmax_attention(), kStreams, 1);
  ModelProblem state(performer(7), kStreams, 1);
  take_over(attention, state);
  const auto first_loss = [](ModelProblem& problem) {
    SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
    return problem.run(engine, 0, 1, *problem.make_memory(kStreams));
  };
  const std::vector<float> expected = first_loss(attention), found = first_loss(state);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace segue
