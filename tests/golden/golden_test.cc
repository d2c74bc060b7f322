// The numbers of the original PyTorch model, computed by its authors' code in double precision: losses, memories,
// gradients and twelve steps of training, from the same weights and tokens.
//
// The environment variable SEGUE_GOLDEN names the folder of one fixture: model.safetensors, args.json,
// expected.safetensors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors.h"
#include "core/convert/import_model.h"
#include "core/convert/tensor_names.h"
#include "core/engine/segment_engine.h"
#include "core/memory/kv_cache.h"
#include "core/memory/segment_memory.h"
#include "core/optimizer/optimizer.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/segments.h"

namespace segue {
namespace {

std::filesystem::path fixture_folder() {
  const char* folder = std::getenv("SEGUE_GOLDEN");
  if (folder == nullptr) throw UsageError("set SEGUE_GOLDEN to the folder of a fixture");
  return folder;
}

class Golden : public testing::Test {
 protected:
  Golden() {
    for (const ImportedTensor& tensor : imported_.tensors) {
      copy_tensor(parameters_[tensor.name].value, tensor.values.view(), compute_.device);
    }
  }

  int64_t streams() const { return expected_.tensor("tokens").shape[0]; }
  int64_t tgt_len() const { return imported_.tgt_len; }

  std::vector<double> expected(const std::string& name) const {
    const ConstTensorView view = expected_.tensor(name);
    return {view.as<double>(), view.as<double>() + view.elements()};
  }

  // A tensor [rows, B, ...] with `width` elements behind every row and stream, as [B, rows, ...].
  std::vector<double> stream_major(const std::vector<double>& row_major, int64_t width) const {
    const int64_t rows = std::ssize(row_major) / streams() / width;
    std::vector<double> turned;
    for (int64_t b = 0; b < streams(); ++b) {
      for (int64_t row = 0; row < rows; ++row) {
        const auto first = row_major.begin() + (row * streams() + b) * width;
        turned.insert(turned.end(), first, first + width);
      }
    }
    return turned;
  }

  // The first `length` tokens of stream b and what follows them.
  oracle::StreamTokens stream_tokens(int64_t b, int64_t length) const {
    const ConstTensorView all = expected_.tensor("tokens");
    const int64_t* first = all.as<int64_t>() + b * all.shape[1];
    const auto part = [&](int64_t shift) { return std::vector<int32_t>(first + shift, first + shift + length); };
    return {part(0), part(1)};
  }

  // The loss of every token of one stream, in segments of other lengths and with other memories than in training.
  std::vector<double> losses(const ModelUse& use, const oracle::StreamTokens& tokens, int64_t tgt_len,
                             EvaluationMemory kept) {
    const ModelInUse in_use{model_, use, parameters_, arena_, queue_};
    SegmentEngine reader(in_use, Tape::Mode::kEvaluation);
    SegmentMemory states{memory_shape(imported_.model, use, 1), compute_};
    KvCache keys(in_use, 1, tgt_len);
    std::vector<double> losses;
    for (int64_t begin = 0; begin < tokens.length(); begin += tgt_len) {
      const oracle::StreamTokens part = tokens.part(begin, tgt_len);
      const Shape shape{1, part.length()};
      const SegmentInputs inputs{
          .tokens = view_of(part.tokens.data(), shape), .targets = view_of(part.targets.data(), shape), .info = {}};
      const auto nll =
          (kept == EvaluationMemory::kAsTrained ? reader.run(inputs, states) : reader.run(inputs, keys)).nll;
      losses.insert(losses.end(), nll.begin(), nll.end());
    }
    return losses;
  }

  // Tokens of segment `s`, or what follows them (`shift` 1).
  OwnedTensor segment_tokens(int64_t s, int64_t shift) const {
    const ConstTensorView all = expected_.tensor("tokens");
    OwnedTensor tokens(DType::kInt32, {streams(), tgt_len()});
    for (int64_t e = 0; e < streams() * tgt_len(); ++e) {
      const int64_t column = s * tgt_len() + e % tgt_len() + shift;
      tokens.as<int32_t>()[e] = static_cast<int32_t>(all.as<int64_t>()[e / tgt_len() * all.shape[1] + column]);
    }
    return tokens;
  }

  std::vector<double> run(SegmentEngine& engine, SegmentMemory& memory, int64_t s) const {
    const OwnedTensor tokens = segment_tokens(s, 0);
    const OwnedTensor targets = segment_tokens(s, 1);
    const auto nll = engine
                         .run({.tokens = tokens.view(),
                               .targets = targets.view(),
                               .info = {.loss_scale = 1.0F / static_cast<float>(streams() * tgt_len())}},
                              memory)
                         .nll;
    return {nll.begin(), nll.end()};
  }

  std::vector<double> on_host(ConstTensorView tensor) const {
    return kernels::oracle_values(HostTensor(tensor, compute_.device).view());
  }

  static double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  SegmentEngine engine(Tape::Mode mode) {
    return {{model_, use_of(imported_.model), parameters_, arena_, queue_}, mode};
  }

  ImportedModel imported_ = import_model(WeightFormat::kTransformerXl, fixture_folder() / "model.safetensors",
                                         fixture_folder() / "args.json");
  SafetensorsFile expected_{fixture_folder() / "expected.safetensors"};
  std::vector<ForeignTensor> names_ =
      foreign_tensors(WeightFormat::kTransformerXl, imported_.model, imported_.vocab_size);
  Transformer model_{imported_.model, imported_.vocab_size};
  Compute compute_{kernels::test_device()};
  kernels::Queue queue_{compute_.device, 2};
  Parameters parameters_{model_.parameter_specs(), compute_};
  Arena arena_{compute_.device};
};

void expect_near(const std::string& what, const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << what << "[" << i << "]";
}

TEST_F(Golden, LossOfEveryTokenAndMemory) {
  SegmentEngine evaluation = engine(Tape::Mode::kEvaluation);
  SegmentMemory memory{memory_shape(imported_.model, use_of(imported_.model), streams()), compute_};
  const std::vector<double> nll = expected("eval.nll");
  const int64_t segments = expected_.tensor("eval.nll").shape[0];
  const int64_t per_segment = std::ssize(nll) / segments;
  for (int64_t s = 0; s < segments; ++s) {
    const std::vector<double> of_segment(nll.begin() + s * per_segment, nll.begin() + (s + 1) * per_segment);
    expect_near("segment " + std::to_string(s), run(evaluation, memory, s), stream_major(of_segment, 1),
                kernels::kGoldenLoss);
  }
  for (int64_t layer = 0; layer < memory.layers(); ++layer) {
    const std::string name = "eval.memory." + std::to_string(layer);
    kernels::expect_close(name, on_host(memory.layer(layer)), stream_major(expected(name), imported_.model.d_model),
                          kernels::kNetwork);
  }
}

// The reference's weights in segments and with memories that it was not trained with, against one dense pass in double
// precision under the mask of such segments.
TEST_F(Golden, OtherLengthsEqualTheDenseOracle) {
  oracle::TransformerXl<double>::Weights weights;
  for (const ParameterSpec& spec : parameters_.specs()) weights[spec.name] = on_host(parameters_[spec.name].value);
  const oracle::StreamTokens tokens = stream_tokens(1, 3 * tgt_len());
  struct Lengths {
    int64_t tgt_len, mem_len;
  };
  for (const auto& [length, mem_len] : {Lengths{1, 9}, {7, 0}, {7, 40}, {tgt_len(), 5}, {2 * tgt_len(), 3}}) {
    ModelConfig config = imported_.model;
    config.mem_len = mem_len;
    const oracle::TransformerXl<double> oracle(config, weights, {});
    const std::vector<double> expected = oracle::dense_nll(config, oracle, tokens, length);
    for (const EvaluationMemory kept : {EvaluationMemory::kAsTrained, EvaluationMemory::kKvCache})
      expect_near(fmt::format("T {}, M {}", length, mem_len), losses(use_of(config), tokens, length, kept), expected,
                  kernels::kGoldenLoss);
  }
}

TEST_F(Golden, GradientsOfTheThirdSegment) {
  SegmentEngine evaluation = engine(Tape::Mode::kEvaluation);
  SegmentEngine training = engine(Tape::Mode::kTraining);
  SegmentMemory memory{memory_shape(imported_.model, use_of(imported_.model), streams()), compute_};
  for (int64_t s = 0; s < 2; ++s) run(evaluation, memory, s);
  EXPECT_NEAR(mean(run(training, memory, 2)), expected("grad.loss")[0], kernels::kGoldenLoss);
  for (const ForeignTensor& name : names_) {
    kernels::expect_close(name.segue, on_host(parameters_[name.segue].gradient), expected("grad." + name.names.front()),
                          kernels::kNetworkGradient);
  }
}

TEST_F(Golden, TwelveStepsOfTraining) {
  SegmentEngine training = engine(Tape::Mode::kTraining);
  SegmentMemory memory{memory_shape(imported_.model, use_of(imported_.model), streams()), compute_};
  Optimizer optimizer({.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 0.25}, parameters_, queue_);
  std::vector<double> losses;
  std::vector<double> norms;
  for (int64_t s = 0; s < 12; ++s) {
    parameters_.clear_gradients(queue_);
    losses.push_back(mean(run(training, memory, s)));
    optimizer.step(1e-3);
    norms.push_back(optimizer.norm());
  }
  expect_near("train.loss", losses, expected("train.loss"), kernels::kGoldenLoss);
  kernels::expect_close("train.grad_norm", norms, expected("train.grad_norm"), kernels::kGoldenGradientNorm);
  for (const ForeignTensor& name : names_) {
    expect_near(name.segue, on_host(parameters_[name.segue].value), expected("train.final." + name.names.front()),
                kernels::kGoldenTrainedWeight);
  }
}

}  // namespace
}  // namespace segue
