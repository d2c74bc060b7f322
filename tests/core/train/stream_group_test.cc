// Gradient accumulation over groups of streams: which group a stream is in changes nothing but rounding.
#include "core/train/stream_group.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kStreams = 5;
constexpr int64_t kTgtLen = 7;

struct StepResult {
  std::vector<double> nll;                     // of every stream's tokens, the second segment's
  std::vector<std::vector<double>> gradients;  // per parameter
};

// Two segments with dropout, gradients of the second.
StepResult run_step(ModelProblem& problem, int64_t groups) {
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  std::vector<StreamGroup> parts =
      make_stream_groups(problem.model.config(), use_of(problem.model.config()), {0, kStreams}, groups);
  StepResult result;
  for (uint64_t step = 1; step <= 2; ++step) {
    problem.parameters.clear_gradients(problem.queue);
    result.nll.clear();
    const int64_t begin = static_cast<int64_t>(step - 1) * kTgtLen;
    const OwnedTensor tokens = columns_of(problem.tokens, begin, kTgtLen);
    const OwnedTensor targets = columns_of(problem.targets, begin, kTgtLen);
    for (StreamGroup& part : parts) {
      const std::span<const float> nll = engine
                                             .run({.tokens = tokens.view().rows(part.first, part.count),
                                                   .targets = targets.view().rows(part.first, part.count),
                                                   .info = {.seed = 17,
                                                            .step = step,
                                                            .first_stream = part.first,
                                                            .loss_scale = 1.0F / (kStreams * kTgtLen)}},
                                                  *part.memory)
                                             .nll;
      result.nll.insert(result.nll.end(), nll.begin(), nll.end());
    }
  }
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    result.gradients.push_back(kernels::oracle_values(problem.parameters.part_of(problem.parameters.gradients(), i)));
  }
  return result;
}

class StreamGroups : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, StreamGroups, testing::ValuesIn(model_variants()), name_of_variant);

// A single other bit in a mask would change losses by far more than rounding.
TEST_P(StreamGroups, AnyNumberOfGroupsIsTheSameStep) {
  ModelConfig config = GetParam().config();
  config.dropout = 0.3;
  config.dropatt = 0.2;
  ModelProblem problem(config, kStreams, 2 * kTgtLen);
  const StepResult whole = run_step(problem, 1);
  for (const int64_t groups : {2, 3, 5}) {
    const StepResult parts = run_step(problem, groups);
    kernels::expect_close("nll", parts.nll, whole.nll, kernels::kNetwork);
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      kernels::expect_close(problem.parameters.specs()[i].name, parts.gradients[i], whole.gradients[i],
                            gradient_tolerance(config));
    }
  }
}

TEST(StreamGroupSizes, DifferByAtMostOne) {
  const Transformer model(small_model(), 23);
  const auto sizes = [&](int64_t streams, int64_t groups) {
    std::vector<int64_t> counts;
    int64_t first = 0;
    for (const StreamGroup& group : make_stream_groups(model.config(), use_of(model.config()), {0, streams}, groups)) {
      EXPECT_EQ(group.first, first);
      EXPECT_EQ(group.memory->state()[0].tensor.shape[0], group.count);
      first += group.count;
      counts.push_back(group.count);
    }
    return counts;
  };
  EXPECT_EQ(sizes(5, 1), (std::vector<int64_t>{5}));
  EXPECT_EQ(sizes(5, 3), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(sizes(6, 3), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(sizes(4, 4), (std::vector<int64_t>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace segue
