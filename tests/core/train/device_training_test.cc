// Training steps on the emulated GPU: the CPU's numbers in float32, and a resumed run bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/config/memory_kind.h"
#include "core/memory/kv_cache.h"
#include "tests/core/train/small_run.h"

namespace segue {
namespace {

constexpr Compute kGpu{{DeviceKind::kCuda, 0}};
constexpr Compute kGpuBf16{{DeviceKind::kCuda, 0}, DType::kBFloat16};

class DeviceTraining : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, DeviceTraining, testing::ValuesIn(model_variants()), name_of_variant);

// Relative. A wrong mask or a step too few would change losses by far more. A norm, unlike a loss, is moved by what is
// left of gradients that cancel.
constexpr double kTrainedLoss = 1e-5;
constexpr double kTrainedNorm = 1e-4;

TEST_P(DeviceTraining, EqualsTheCpu) {
  const ModelConfig config = with_dropout(GetParam());
  const std::vector<StepReport> expected = SmallRun(config, kCpu).train(0, kSteps);
  const std::vector<StepReport> found = SmallRun(config, kGpu).train(0, kSteps);
  expect_losses(found, expected, kTrainedLoss);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i].gradient_norm, expected[i].gradient_norm, kTrainedNorm * expected[i].gradient_norm) << i;
}

class DeviceTrainingInBfloat16 : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(Some, DeviceTrainingInBfloat16,
                         testing::ValuesIn(model_variants().begin(), model_variants().begin() + 6), name_of_variant);
INSTANTIATE_TEST_SUITE_P(Positions, DeviceTrainingInBfloat16, testing::ValuesIn(position_variants()), name_of_variant);

TEST_P(DeviceTrainingInBfloat16, StaysNearTheCpu) {
  const ModelConfig config = with_dropout(GetParam());
  expect_losses(SmallRun(config, kGpuBf16).train(0, kSteps), SmallRun(config, kCpu).train(0, kSteps),
                kTrainedLossInBFloat16);
}

// The first run of a graph's addresses is step 1, when the memory is full; two steps warm up, one records.
class DeviceGraph : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(Some, DeviceGraph,
                         testing::Values(model_variant("post_norm"), model_variant("gelu"), model_variant("clamp_len")),
                         name_of_variant);
// Of those that compress two that are settled at once, whose segments all push out as many rows. Of encoders one with
// positions that look ahead.
std::vector<ModelVariant> memories_of_one_shape() {
  std::vector<ModelVariant> variants = kind_variants("memory", &ModelConfig::memory);
  std::erase_if(variants, [](const ModelVariant& variant) {
    const MemoryKind kind = variant.config().memory.kind;
    return kind == MemoryKind::kCompressed || kind == MemoryKind::kEncoder;
  });
  variants.push_back(model_variant("memory_encoder"));
  for (const CompressionKind compression : {CompressionKind::kConvolution, CompressionKind::kMostUsed})
    variants.push_back({fmt::format("memory_compressed_in_whole_groups_{}", name_of_choice(compression)),
                        [compression](ModelConfig& m) {
                          m.memory = {.kind = MemoryKind::kCompressed,
                                      .initial = InitialMemory::kZeros,
                                      .compressed_len = 2,
                                      .compression_rate = kTgtLen,
                                      .compression = compression};
                          m.mem_len = kTgtLen;
                        }});
  return variants;
}
INSTANTIATE_TEST_SUITE_P(Memories, DeviceGraph, testing::ValuesIn(memories_of_one_shape()), name_of_variant);

TEST_P(DeviceGraph, DrawsNewMasksAndMovesTheMemory) {
  const ModelConfig config = with_dropout(GetParam());
  SmallRun cpu(config, kCpu);
  SmallRun gpu(config, kGpu);
  expect_losses(gpu.train(0, kMostSteps), cpu.train(0, kMostSteps), kTrainedLoss);
  EXPECT_EQ(cpu.engine.graphs(), 0);
  EXPECT_EQ(gpu.engine.graphs(), 2);  // one for each group
}

// Steps of three segments, the last of them short.
TEST(DeviceSegments, OfAStepAreRecordedTogether) {
  ModelConfig config = with_dropout(model_variant("memory_tokens"));
  SmallRun cpu(config, kCpu);
  SmallRun gpu(config, kGpu);
  cpu.segment_length = gpu.segment_length = 3;
  expect_losses(gpu.train(0, kMostSteps), cpu.train(0, kMostSteps), kTrainedLoss);
  EXPECT_EQ(gpu.engine.graphs(), 2);
}

// The same losses and gradients to the bit, replayed as graphs too.
TEST(DeviceRecompute, ChangesNoBit) {
  for (const Compute& compute : {kGpu, kGpuBf16}) {
    const ModelConfig config = with_dropout(model_variant("post_norm"));
    const std::vector<StepReport> expected = SmallRun(config, compute).train(0, kMostSteps);
    for (const Recompute recompute : {Recompute::kAttention, Recompute::kBlock}) {
      SmallRun again(config, compute);
      again.recompute = recompute;
      const std::vector<StepReport> found = again.train(0, kMostSteps);
      EXPECT_EQ(again.engine.graphs(), 2);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(found[i].loss(), expected[i].loss()) << i;
        EXPECT_EQ(found[i].gradient_norm, expected[i].gradient_norm) << i;
      }
    }
  }
}

// Seven tokens push out six rows and eight in turns, where two become one.
TEST(DeviceGraphs, AreOneForEachNumberOfRowsThatAreCompressed) {
  ModelConfig config = small_model();
  config.memory = {
      .kind = MemoryKind::kCompressed, .initial = InitialMemory::kZeros, .compressed_len = 3, .compression_rate = 2};
  config.mem_len = kTgtLen;
  config.dropout = config.dropatt = 0.2;
  SmallRun cpu(config, kCpu);
  SmallRun gpu(config, kGpu);
  // As a run does: the arena has room for the largest from the beginning.
  for (const StreamGroup& group : gpu.groups)
    gpu.engine.prepare(full_segment(config, use_of(config), group.count, kTgtLen, kTgtLen));
  expect_losses(gpu.train(0, kMostSteps), cpu.train(0, kMostSteps), kTrainedLoss);
  EXPECT_EQ(gpu.engine.graphs(), 4);  // two for each group
}

// Where documents begin differs from replay to replay of a graph.
class DocumentGraph : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(Some, DocumentGraph, testing::Values(model_variant("post_norm"), model_variant("clamp_len")),
                         name_of_variant);
INSTANTIATE_TEST_SUITE_P(Memories, DocumentGraph,
                         testing::ValuesIn(that_tell_documents(kind_variants("memory", &ModelConfig::memory))),
                         name_of_variant);

TEST_P(DocumentGraph, TellsDocumentsApart) {
  const ModelConfig config = with_dropout(GetParam());
  SmallRun cpu(config, kCpu);
  SmallRun gpu(config, kGpu);
  cpu.tells_documents = gpu.tells_documents = true;
  const std::vector<StepReport> expected = cpu.train(0, kMostSteps);
  expect_losses(gpu.train(0, kMostSteps), expected, kTrainedLoss);
  EXPECT_EQ(gpu.engine.graphs(), 2);
  const std::vector<StepReport> together = SmallRun(config, kCpu).train(0, kMostSteps);
  EXPECT_GT(std::abs(together.back().loss() - expected.back().loss()), 1e-3);
}

// What is saved of every other variant is the same on every device (bfloat16_training_test, training_checkpoint_test).
TEST(DeviceResume, GoesOnBitForBit) {
  expect_resumes_bit_for_bit(model_variants().front(), kGpuBf16);
  expect_resumes_bit_for_bit(model_variant("visibility_adaptive"), kGpu);
  for (const ModelVariant& kind : kind_variants("memory", &ModelConfig::memory))
    expect_resumes_bit_for_bit(model_variant(kind.name), kGpu);
}

// Keys and values kept on the GPU, whole segments and the first tokens of one, until rows have moved.
TEST(DeviceSegment, KeysAndValuesEqualHiddenStates) {
  for (const Compute& compute : {kGpu, kGpuBf16}) {
    ModelConfig config = small_model();
    config.mem_len = 9;
    ModelProblem problem(config, 2, 4 * kTgtLen, compute);
    SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> states = problem.make_memory(2, compute);
    KvCache keys(problem.in_use(), 2, kTgtLen);
    for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
      const std::vector<float> expected = problem.run(engine, begin, kTgtLen, *states);
      const std::vector<float> found = problem.run(engine, begin, kTgtLen, keys);
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << begin << " " << i;
    }
    keys.reset();
    states->reset();
    const std::vector<float> first = problem.run(engine, 0, 2, *states);
    for (int64_t i = 0; i < 2; ++i) {
      const std::vector<float> found = problem.run(engine, i, 1, keys);
      for (size_t b = 0; b < 2; ++b)
        EXPECT_NEAR(found[b], first[2 * b + static_cast<size_t>(i)],
                    compute.activations == DType::kFloat32 ? 1e-5 : 0.05);
    }
  }
}

TEST(DeviceSegment, RefusesATokenOutsideTheVocabulary) {
  ModelProblem problem(small_model(), 2, kTgtLen, kGpu);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2, kGpu);
  problem.targets.as<int32_t>()[3] = ModelProblem::kVocabulary;
  kernels::expect_contract_error([&] { problem.run(engine, 0, kTgtLen, *memory); },
                                 {"targets[3]", "[-1, 23)", "found 23"});
}

TEST(DeviceLimits, AreToldBeforeTraining) {
  ModelConfig wide = small_model();
  wide.d_head = 129;
  EXPECT_THROW(compute_of(wide, PrecisionKind::kFp32, kGpu.device), ConfigError);
  EXPECT_NO_THROW(compute_of(wide, PrecisionKind::kFp32, kCpu.device));
  wide = small_model();
  wide.d_model = 8194;
  EXPECT_THROW(compute_of(wide, PrecisionKind::kFp32, kGpu.device), ConfigError);
  EXPECT_THROW(compute_of(wide, PrecisionKind::kFp32, kCpu.device), ConfigError);
  EXPECT_EQ(compute_of(small_model(), PrecisionKind::kBf16, kGpu.device).activations, DType::kBFloat16);
}

}  // namespace
}  // namespace segue
