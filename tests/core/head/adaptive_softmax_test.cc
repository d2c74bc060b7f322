// The adaptive softmax as a distribution: it sums to one, it is the product of its softmaxes, with one cluster it is
// the plain softmax, and every token keeps its index. Of both heads: tokens that are not scored, and margins.
#include "core/head/adaptive_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/config/head_kind.h"
#include "core/head/head.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kVocabulary = 23;

ModelConfig adaptive_model(int64_t div_val, ClusterOrder order) {
  ModelConfig model = small_model();
  model.head = {.kind = HeadKind::kAdaptive, .cutoffs = {6, 9, 17}, .div_val = div_val, .cluster_order = order};
  return model;
}

// The head alone, on hidden states [1, T, D] given from outside.
class HeadProblem {
 public:
  HeadProblem(const ModelConfig& model, int64_t tokens)
      : model_(model),
        parameters_(parameter_specs(model, kVocabulary)),
        hidden_(DType::kFloat32, {1, tokens, model.d_model}),
        tape_(arena_, Tape::Mode::kEvaluation) {
    draw_weights(parameters_);
    for (int64_t e = 0; e < hidden_.shape().elements(); ++e)
      hidden_.as<float>()[e] = static_cast<float>(random_normal({.seed = 3}, static_cast<uint64_t>(e)));
    input_ = {.data = tape_.bound(hidden_.shape(), DType::kFloat32), .gradient = {}};
    targets_ = tape_.bound({1, tokens}, DType::kInt32);
    loss_ = make_head(model, kVocabulary)->loss(tape_, parameters_, input_, {targets_, true});
    tape_.seal();
  }

  // Every row of hidden states like row `row`.
  void repeat(int64_t row) {
    const int64_t width = model_.d_model;
    for (int64_t i = 0; i < hidden_.shape()[1]; ++i) {
      if (i != row) std::copy_n(hidden_.as<float>() + row * width, width, hidden_.as<float>() + i * width);
    }
  }
  void swap_rows(int64_t a, int64_t b) {
    const int64_t width = model_.d_model;
    std::swap_ranges(hidden_.as<float>() + a * width, hidden_.as<float>() + (a + 1) * width,
                     hidden_.as<float>() + b * width);
  }

  std::vector<float> losses(const std::vector<int32_t>& targets) {
    tape_.bind(input_.data, std::as_const(hidden_).view());
    tape_.bind(targets_, view_of(targets.data(), {1, std::ssize(targets)}));
    tape_.forward(queue_);
    return values(loss_.nll);
  }
  bool tells_margins() const { return loss_.margin.exists(); }
  // Of the targets whose losses were computed last.
  std::vector<float> margins() const { return values(loss_.margin); }

 private:
  std::vector<float> values(Slot slot) const {
    const ConstTensorView view = tape_.read(slot);
    return {view.as<float>(), view.as<float>() + view.elements()};
  }

  ModelConfig model_;
  Parameters parameters_;
  OwnedTensor hidden_;
  Arena arena_;
  Tape tape_;
  kernels::Queue queue_{2};
  Value input_;
  Slot targets_;
  TokenLoss loss_;
};

std::vector<int32_t> all_words() {
  std::vector<int32_t> words(kVocabulary);
  std::iota(words.begin(), words.end(), 0);
  return words;
}

class AdaptiveSoftmax : public testing::TestWithParam<std::tuple<int64_t, ClusterOrder>> {
 protected:
  ModelConfig model() const { return std::apply(adaptive_model, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, AdaptiveSoftmax,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(ClusterOrder::kReversed, ClusterOrder::kAscending)));

TEST_P(AdaptiveSoftmax, ProbabilitiesSumToOne) {
  HeadProblem head(model(), kVocabulary);
  for (int64_t row = 0; row < 5; ++row) {
    head.repeat(row);
    double sum = 0.0;
    for (const float nll : head.losses(all_words())) sum += std::exp(-static_cast<double>(nll));
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST_P(AdaptiveSoftmax, EveryTokenKeepsItsPlace) {
  HeadProblem head(model(), kVocabulary);
  std::vector<int32_t> targets = all_words();
  std::vector<float> before = head.losses(targets);
  const auto swap = [&](size_t a, size_t b) {
    head.swap_rows(static_cast<int64_t>(a), static_cast<int64_t>(b));
    std::swap(targets[a], targets[b]);
    std::swap(before[a], before[b]);
  };
  swap(0, 22);  // of different clusters
  swap(7, 12);
  swap(18, 21);  // of one
  const std::vector<float> after = head.losses(targets);
  for (size_t i = 0; i < targets.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6) << "token " << i;
}

// The oracle merges the clusters by hand: the probability of a word in its cluster times that of the cluster, in
// double.
TEST_P(AdaptiveSoftmax, IsTheProductOfItsSoftmaxes) {
  const ModelConfig config = model();
  ModelProblem problem(config, 1, kVocabulary);
  const auto oracle = problem.oracle<double>();
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
  const std::vector<float> found = problem.run(engine, 0, kVocabulary, *memory);
  oracle::Memory none = oracle::initial_memory(config);
  const std::vector<double> expected =
      oracle::segmented_nll(config, oracle, problem.stream_tokens(0), kVocabulary, none);
  kernels::expect_close("nll", {found.begin(), found.end()}, expected, kernels::kNetwork);
}

void expect_losses_of_those_scored(HeadProblem& head) {
  std::vector<int32_t> targets = all_words();
  const std::vector<float> all = head.losses(targets);
  for (const size_t i : {0, 3, 7, 8, 20, 22}) targets[i] = -1;
  const std::vector<float> some = head.losses(targets);
  for (size_t i = 0; i < targets.size(); ++i)
    EXPECT_NEAR(some[i], targets[i] == -1 ? 0.0F : all[i], targets[i] == -1 ? 0.0F : 1e-6F) << "token " << i;
  for (const float nll : head.losses(std::vector<int32_t>(targets.size(), -1))) EXPECT_EQ(nll, 0.0F);
}

TEST_P(AdaptiveSoftmax, TokensThatAreNotScoredHaveNoLoss) {
  HeadProblem head(model(), kVocabulary);
  expect_losses_of_those_scored(head);
  EXPECT_FALSE(head.tells_margins());
}

TEST(AdaptiveSoftmaxOfOneCluster, TokensThatAreNotScoredHaveNoLoss) {
  ModelConfig model = small_model();
  model.head = {.kind = HeadKind::kAdaptive};
  HeadProblem head(model, kVocabulary);
  expect_losses_of_those_scored(head);
}

TEST(PlainSoftmax, TokensThatAreNotScoredHaveNoLoss) {
  HeadProblem head(small_model(), kVocabulary);
  expect_losses_of_those_scored(head);
  for (const float margin : head.margins()) EXPECT_EQ(margin, 0.0F);
}

// Of all words one alone has a margin above 0: that of the least loss, and the next best lies as much below it.
TEST(PlainSoftmax, MarginsTellTheMostLikelyWord) {
  HeadProblem head(small_model(), kVocabulary);
  for (int64_t row = 0; row < 5; ++row) {
    head.repeat(row);
    std::vector<float> losses = head.losses(all_words()), margins = head.margins();
    const auto best = std::ranges::min_element(losses) - losses.begin();
    EXPECT_EQ(std::ranges::count_if(margins, [](float margin) { return margin > 0.0F; }), 1);
    EXPECT_GT(margins[static_cast<size_t>(best)], 0.0F);
    std::ranges::sort(losses);
    std::ranges::sort(margins, std::greater());
    EXPECT_NEAR(margins[0], losses[1] - losses[0], 1e-5);
    EXPECT_NEAR(margins[1], -margins[0], 1e-6);
  }
}

// Losses, gradients and all, from the same weights.
TEST(AdaptiveSoftmaxOfOneCluster, IsThePlainSoftmax) {
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<double>> gradients;
  for (const HeadKind kind : {HeadKind::kSoftmax, HeadKind::kAdaptive}) {
    ModelConfig config = small_model();
    config.d_embed = 9;
    config.head = {.kind = kind, .tie_projs = {true}};
    ModelProblem problem(config, 3, 7);
    SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(3);
    const std::vector<float> nll = problem.run(engine, 0, 7, *memory, {.loss_scale = 1.0F / 21.0F});
    losses.emplace_back(nll.begin(), nll.end());
    gradients.push_back(kernels::oracle_values(problem.parameters.gradients()));
  }
  kernels::expect_close("losses", losses[1], losses[0], kernels::kReduction);
  kernels::expect_close("gradients", gradients[1], gradients[0], kernels::kNetworkGradient);
}

TEST(AdaptiveSoftmaxClusters, MustFitIntoTheVocabulary) {
  const ModelConfig model = adaptive_model(1, ClusterOrder::kReversed);
  EXPECT_THROW(Transformer(model, 17), ConfigError);
  EXPECT_NO_THROW(Transformer(model, 18));
}

}  // namespace
}  // namespace segue
