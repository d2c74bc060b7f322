// The shares of attention by age: their sums, and those of a model that attends to all alike.
#include "core/evaluation/attention_by_age.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

TEST(AttentionByAge, JoinsAgesInDoublingSteps) {
  AttentionByAge attention(1, 9);
  EXPECT_TRUE(attention.empty() && attention.by_age(0).empty());
  OwnedTensor received(DType::kFloat32, {1, 2, 5});  // two heads, five rows, the oldest first
  for (int64_t i = 0; i < 10; ++i) received.as<float>()[i] = static_cast<float>(i % 5 + 1);
  const std::vector<ConstTensorView> layers{received.view()};
  attention.add(layers, 0, 20);
  const std::vector<AttentionByAge::Share> shares = attention.by_age(0);
  ASSERT_EQ(shares.size(), 4U);
  const std::vector<int64_t> to{1, 2, 4, 5};
  const std::vector<double> sums{5, 4, 3 + 2, 1};  // of one head
  for (size_t i = 0; i < shares.size(); ++i) {
    EXPECT_EQ(shares[i].to, to[i]);
    EXPECT_EQ(shares[i].from, i == 0 ? 1 : to[i - 1] + 1);
    EXPECT_DOUBLE_EQ(shares[i].share, sums[i] / 20.0);
  }
  EXPECT_DOUBLE_EQ(attention.of_memory(0), 15.0 / 20.0);
  AttentionByAge shorter(1, 4);
  EXPECT_THROW(shorter.add(layers, 0, 20), ContractError);
}

// Without positions and weights every query attends to all that it sees alike.
TEST(AttentionByAge, IsThatOfTheQueriesThatSeeARow) {
  constexpr int64_t kTgtLen = 4;
  ModelConfig config = small_model();
  config.position.kind = PositionKind::kNone;
  for (const MemoryKind kind : {MemoryKind::kHiddenStates, MemoryKind::kKeysValues, MemoryKind::kEncoder}) {
    config.memory.kind = kind;
    ModelProblem problem(config, 2, 3 * kTgtLen);
    fill_zero(problem.parameters.values(), {});
    SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
    AttentionByAge attention(config.n_layer, config.mem_len);
    std::vector<double> expected(static_cast<size_t>(config.mem_len), 0.0);
    for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
      const OwnedTensor tokens = columns_of(problem.tokens, begin, kTgtLen);
      const OwnedTensor targets = columns_of(problem.targets, begin, kTgtLen);
      const HostLosses losses =
          engine.run({.tokens = tokens.view(), .targets = targets.view(), .info = {}, .attention = true}, *memory);
      const int64_t rows = std::min(begin, config.mem_len);
      EXPECT_EQ(losses.attention.empty(), rows == 0);
      if (rows == 0) continue;
      for (int64_t stream = 0; stream < 2; ++stream) attention.add(losses.attention, stream, kTgtLen);
      for (int64_t age = 0; age < rows; ++age)
        for (int64_t query = 0; query < kTgtLen; ++query)
          expected[static_cast<size_t>(age)] += 1.0 / static_cast<double>(rows + query + 1) / (2.0 * kTgtLen);
    }
    for (int64_t layer = 0; layer < config.n_layer; ++layer) {
      double sum = 0.0;
      for (const AttentionByAge::Share& share : attention.by_age(layer)) {
        const auto first = expected.begin() + share.from - 1;
        const double right = std::accumulate(first, expected.begin() + share.to, 0.0);
        EXPECT_NEAR(share.share, right, 1e-6) << name_of_choice(kind) << ", layer " << layer << ", " << share.from;
        sum += right;
      }
      EXPECT_NEAR(attention.of_memory(layer), sum, 1e-6);
    }
  }
}

}  // namespace
}  // namespace segue
