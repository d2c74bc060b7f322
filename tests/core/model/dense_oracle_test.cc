// The dense oracle: a run over segments with memory is one dense pass under a mask.
#include <gtest/gtest.h>

#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

struct Lengths {
  int64_t tgt_len, mem_len, length;
};
void PrintTo(const Lengths& l, std::ostream* out) {
  *out << "T " << l.tgt_len << ", M " << l.mem_len << ", length " << l.length;
}

class DenseOracle : public testing::TestWithParam<Lengths> {
 protected:
  static void expect_equal(ModelConfig config) {
    config.n_layer = 3;
    config.mem_len = GetParam().mem_len;
    ModelProblem problem(config, 1, GetParam().length);
    const auto oracle = problem.oracle<double>();
    const oracle::StreamTokens stream = problem.stream_tokens(0);
    oracle::Memory memory = oracle::initial_memory(config);
    const std::vector<double> segmented = oracle::segmented_nll(config, oracle, stream, GetParam().tgt_len, memory);
    const std::vector<double> dense = oracle::dense_nll(config, oracle, stream, GetParam().tgt_len);
    kernels::expect_close("nll", segmented, dense, kernels::kDoubleRounding);
  }
};

TEST_P(DenseOracle, EqualsSegments) { expect_equal(small_model()); }

TEST_P(DenseOracle, EqualsSegmentsPreNorm) {
  ModelConfig config = small_model();
  config.block.pre_lnorm = true;
  expect_equal(config);
}

TEST_P(DenseOracle, EqualsSegmentsWithZerosClampAndExtraKey) {
  ModelConfig config = small_model();
  config.memory.initial = InitialMemory::kZeros;
  config.position.clamp_len = 4;
  config.visibility = {.same_length = true, .same_length_extra_key = true};
  expect_equal(config);
}

TEST_P(DenseOracle, EqualsSegmentsOfEveryPositionKind) {
  for (const ModelVariant& kind : position_variants()) {
    SCOPED_TRACE(kind.name);
    ModelConfig config = small_model();
    kind.change(config);
    config.mem_len = GetParam().mem_len;
    expect_equal(with_position_rows(std::move(config), GetParam().tgt_len));
  }
}

TEST_P(DenseOracle, EqualsSegmentsOfLayersApart) {
  for (const ModelVariant& variant : layer_variants()) {
    SCOPED_TRACE(variant.name);
    ModelConfig config = small_model();
    variant.change(config);
    config.mem_len = GetParam().mem_len;
    expect_equal(with_position_rows(std::move(config), GetParam().tgt_len));
  }
}

TEST_P(DenseOracle, EqualsSegmentsOfMaskedModels) {
  for (const ModelVariant& variant : masked_variants()) {
    if (GetParam().tgt_len % 6 != 0 && variant.config().visibility.kind == VisibilityKind::kSparse) continue;
    SCOPED_TRACE(variant.name);
    ModelConfig config = small_model();
    variant.change(config);
    config.mem_len = GetParam().mem_len;
    expect_equal(with_position_rows(std::move(config), GetParam().tgt_len));
  }
}

TEST_P(DenseOracle, EqualsSegmentsOfSinusoidalPositionsAndZeros) {
  ModelConfig config = small_model();
  config.position.kind = PositionKind::kSinusoidal;
  config.memory.initial = InitialMemory::kZeros;
  config.block.pre_lnorm = true;
  expect_equal(config);
}

TEST_P(DenseOracle, EqualsSegmentsOfShawDistances) {
  ModelConfig config = small_model();
  config.position = {.kind = PositionKind::kShaw, .clamp_len = 4, .max_positions = 5};
  expect_equal(config);
}

// No memory; shorter than the segment, as long, longer and not a multiple, a multiple; longer than the stream; segments
// of one token; a short last segment.
INSTANTIATE_TEST_SUITE_P(Lengths, DenseOracle,
                         testing::Values(Lengths{5, 0, 20}, Lengths{5, 2, 20}, Lengths{5, 5, 20}, Lengths{5, 7, 20},
                                         Lengths{5, 10, 20}, Lengths{4, 50, 20}, Lengths{1, 3, 9}, Lengths{1, 0, 5},
                                         Lengths{6, 1, 23}, Lengths{6, 4, 25}, Lengths{3, 8, 22}, Lengths{30, 4, 12}));

// The comparison above can fail: one key more or less in the mask is seen.
TEST(DenseOracleMask, OneKeyMoreOrLessIsADifferentModel) {
  const ModelConfig config = small_model();
  ModelProblem problem(config, 1, 20);
  const auto oracle = problem.oracle<double>();
  const oracle::StreamTokens stream = problem.stream_tokens(0);
  const std::vector<double> right = oracle::dense_nll(config, oracle, stream, 5);
  for (const int64_t change : {-1, 1}) {
    ModelConfig wrong = config;
    wrong.mem_len += change;
    EXPECT_GT(std::abs(oracle::dense_nll(wrong, oracle, stream, 5).back() - right.back()), 1e-6) << change;
  }
}

}  // namespace
}  // namespace segue
