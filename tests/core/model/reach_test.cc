// Information reaches exactly as far as the mask says: for every pair of tokens.
#include "core/model/reach.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/config/visibility_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

struct ReachCase {
  std::string name;
  int64_t n_layer, tgt_len, mem_len, length;
  VisibilityConfig visibility = {};
  std::vector<LayerOverride> layers = {};
  bool masked = false;
  // Whether the farthest key of every pattern is known, and seen.
  bool is_exact() const {
    return std::ranges::all_of(visibility.patterns, [](const PatternConfig& pattern) {
      return pattern.kind != PatternKind::kRandom && pattern.farthest_distance(0);
    });
  }
  ModelConfig config() const {
    ModelConfig model = small_model();
    model.n_layer = n_layer;
    model.mem_len = mem_len;
    model.visibility = visibility;
    model.layers = layers;
    if (masked) mask(model, visibility);
    return model;
  }
};
void PrintTo(const ReachCase& c, std::ostream* out) { *out << c.name; }

// reach[t][s]: whether token s can matter to the loss at t, through every layer's mask.
using Reach = std::vector<std::vector<bool>>;

Reach composed_mask(const ReachCase& c) {
  const std::vector<oracle::Visibility> masks = oracle::dense_masks(c.config(), c.tgt_len);
  Reach reach(c.length, std::vector<bool>(c.length));
  for (int64_t t = 0; t < c.length; ++t) reach[t][t] = true;
  for (int64_t layer = 0; layer < c.n_layer; ++layer) {
    const Reach below = reach;
    const auto sees = [&](int64_t query, int64_t key) {
      for (int64_t head = 0; head < c.config().n_head; ++head)
        if (masks[layer](head, query, key)) return true;
      return false;
    };
    for (int64_t t = 0; t < c.length; ++t) {
      for (int64_t k = 0; k < c.length; ++k) {
        for (int64_t s = 0; sees(t, k) && s < c.length; ++s) reach[t][s] = reach[t][s] || below[k][s];
      }
    }
  }
  return reach;
}

class ReachTest : public testing::TestWithParam<ReachCase> {
 protected:
  // The losses of every token of both streams, token by token.
  std::vector<std::vector<float>> losses() {
    std::vector<std::vector<float>> streams(problem_.streams());
    memory_->reset();
    for (int64_t begin = 0; begin < problem_.length(); begin += GetParam().tgt_len) {
      const std::vector<float> nll = problem_.run(engine_, begin, GetParam().tgt_len, *memory_);
      const auto count = std::ssize(nll) / problem_.streams();
      for (int64_t b = 0; b < problem_.streams(); ++b)
        streams[b].insert(streams[b].end(), nll.begin() + b * count, nll.begin() + (b + 1) * count);
    }
    return streams;
  }

  ModelProblem problem_{GetParam().config(), 2, GetParam().length};
  SegmentEngine engine_ = problem_.engine(Tape::Mode::kEvaluation);
  std::unique_ptr<TrainingMemory> memory_ = problem_.make_memory(2);
};

TEST_P(ReachTest, OneTokenChangesExactlyWhatSeesIt) {
  const Reach reach = composed_mask(GetParam());
  const std::vector<std::vector<float>> before = losses();
  for (int64_t s = 0; s < problem_.length(); ++s) {
    int32_t& token = problem_.tokens.as<int32_t>()[s];  // of stream 0
    const int32_t original = std::exchange(token, (token + 5) % static_cast<int32_t>(ModelProblem::kVocabulary));
    const std::vector<std::vector<float>> after = losses();
    for (int64_t t = 0; t < problem_.length(); ++t)
      EXPECT_EQ(after[0][t] != before[0][t], reach[t][s]) << "token " << s << ", loss " << t;
    EXPECT_EQ(after[1], before[1]) << "the other stream, token " << s;
    token = original;
  }
}

TEST_P(ReachTest, IsWhatTheModelSays) {
  ReachCase c = GetParam();
  c.length = 20 * c.tgt_len;
  const std::vector<bool> reach = composed_mask(c).back();
  const auto oldest = std::find(reach.begin(), reach.end(), true) - reach.begin();
  const int64_t said = reach_in_tokens(c.config(), use_of(c.config()), c.tgt_len).value();
  // Strides may pass by the oldest token, and draws.
  if (c.is_exact()) {
    EXPECT_EQ(said, c.length - 1 - oldest);
  } else {
    EXPECT_GE(said, c.length - 1 - oldest);
  }
}

// In two layers a token matters by way of it to all of its segment and of the next, however narrow a window is.
TEST(ReachOfAGlobalStream, IsTheSegmentAndItsMemory) {
  constexpr int64_t kTgtLen = 8, kLength = 24, kChanged = 7;
  const auto changed = [](int64_t global_tokens) {
    ModelConfig model = small_model();
    model.n_layer = 2;
    model.mem_len = kTgtLen;
    mask(model, sparse({{.window = 2}}));
    model.global_stream.tokens = global_tokens;
    ModelProblem problem(model, 1, kLength);
    SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
    const auto losses = [&] {
      const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
      std::vector<float> all;
      for (int64_t begin = 0; begin < kLength; begin += kTgtLen) {
        const std::vector<float> nll = problem.run(engine, begin, kTgtLen, *memory);
        all.insert(all.end(), nll.begin(), nll.end());
      }
      return all;
    };
    const std::vector<float> before = losses();
    int32_t& token = problem.tokens.as<int32_t>()[kChanged];
    token = (token + 5) % static_cast<int32_t>(ModelProblem::kVocabulary);
    const std::vector<float> after = losses();
    std::vector<int64_t> places;
    for (int64_t t = 0; t < kLength; ++t)
      if (after[t] != before[t]) places.push_back(t);
    return places;
  };
  EXPECT_EQ(changed(0), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  std::vector<int64_t> both_segments(2 * kTgtLen);
  std::iota(both_segments.begin(), both_segments.end(), 0);
  EXPECT_EQ(changed(1), both_segments);
}

// The oldest token that matters to the last one, several segments on.
TEST(ReachOfAGlobalStream, IsWhatTheModelSays) {
  constexpr int64_t kTgtLen = 6, kLength = 48;
  for (const int64_t n_layer : {1, 2, 3, 4, 5}) {
    for (const int64_t mem_len : {0, 4, 6, 9}) {
      ModelConfig model = small_model();
      model.n_layer = n_layer;
      model.mem_len = mem_len;
      mask(model, sparse({{.window = 2}}));
      model.global_stream.tokens = 2;
      ModelProblem problem(model, 1, kLength);
      SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
      const auto last_loss = [&] {
        const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
        float last = 0.0F;
        for (int64_t begin = 0; begin < kLength; begin += kTgtLen)
          last = problem.run(engine, begin, kTgtLen, *memory).back();
        return last;
      };
      const float before = last_loss();
      int64_t oldest = 0;
      for (bool matters = false; !matters && oldest < kLength; oldest += matters ? 0 : 1) {
        int32_t& token = problem.tokens.as<int32_t>()[oldest];
        const int32_t original = std::exchange(token, (token + 5) % static_cast<int32_t>(ModelProblem::kVocabulary));
        matters = last_loss() != before;
        token = original;
      }
      EXPECT_EQ(reach_in_tokens(model, use_of(model), kTgtLen), kLength - 1 - oldest) << n_layer << ' ' << mem_len;
    }
  }
}

using enum PatternKind;
constexpr VisibilityConfig kSameLength{.same_length = true};
constexpr VisibilityConfig kWindowOf3{.kind = VisibilityKind::kWindow, .window = 3};

std::vector<LayerOverride> window_in(std::vector<int64_t> layers, int64_t window) {
  return {
      {.only = std::move(layers), .visibility = VisibilityConfig{.kind = VisibilityKind::kWindow, .window = window}}};
}
std::vector<LayerOverride> causal_in(std::vector<int64_t> layers) {
  return {{.only = std::move(layers), .visibility = VisibilityConfig{}}};
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReachTest,
    testing::Values(
        ReachCase{"masked", 3, 4, 6, 24, {.kind = VisibilityKind::kFull}, {}, true},
        ReachCase{"masked_no_memory", 2, 5, 0, 15, {.kind = VisibilityKind::kFull}, {}, true},
        ReachCase{"masked_window_and_dilated_by_head",
                  3,
                  6,
                  4,
                  36,
                  sparse({{.heads = {0, 1}, .window = 2}, {.kind = kDilated, .heads = {2}, .window = 2, .stride = 3}}),
                  {},
                  true},
        ReachCase{"masked_blocks", 3, 6, 5, 36, sparse({{.kind = kBlocks, .block = 2, .before = 1}}), {}, true},
        ReachCase{"masked_blockwise_global_and_fixed",
                  3,
                  6,
                  6,
                  36,
                  sparse({{.kind = kBlockwise, .heads = {0, 1}, .block = 2, .shift = 1},
                          {.kind = kGlobal, .heads = {1}, .period = 6, .columns = 1},
                          {.kind = kFixed, .heads = {2}, .period = 3, .from = 2, .columns = 1}}),
                  {},
                  true},
        ReachCase{"no_memory", 2, 5, 0, 15}, ReachCase{"memory_of_one", 3, 4, 1, 24},
        ReachCase{"shorter_memory", 2, 5, 3, 25}, ReachCase{"memory_as_long", 2, 5, 5, 25},
        ReachCase{"memory_as_long_three_layers", 3, 4, 4, 24}, ReachCase{"longer_memory", 2, 4, 7, 26},
        ReachCase{"one_layer", 1, 4, 6, 18}, ReachCase{"one_token_segments", 2, 1, 3, 12},
        ReachCase{"same_length", 2, 4, 6, 26, kSameLength}, ReachCase{"same_length_short", 3, 5, 3, 25, kSameLength},
        ReachCase{"window", 3, 5, 3, 25, {.kind = VisibilityKind::kWindow, .window = 4}},
        ReachCase{"window_of_more_than_memory", 2, 4, 5, 26, {.kind = VisibilityKind::kWindow, .window = 8}},
        ReachCase{"window_of_less_than_memory", 2, 4, 9, 26, {.kind = VisibilityKind::kWindow, .window = 3}},
        ReachCase{"window_in_the_first_layer", 3, 5, 3, 25, {}, window_in({0}, 2)},
        ReachCase{"window_in_the_last_layer", 3, 5, 3, 25, {}, window_in({2}, 4)},
        ReachCase{"all_in_one_layer_of_windows", 3, 4, 6, 26, kWindowOf3, causal_in({1})},
        ReachCase{"dilated", 3, 5, 6, 40, sparse({{.kind = kDilated, .window = 3, .stride = 3}})},
        ReachCase{"window_and_strided_by_head", 3, 5, 9, 35,
                  sparse({{.heads = {0, 1}, .window = 2}, {.kind = kStrided, .heads = {2}, .stride = 4}})},
        ReachCase{"blocks", 3, 4, 3, 28, sparse({{.kind = kBlocks, .block = 2, .before = 3}})},
        ReachCase{"blockwise_by_head", 3, 4, 8, 36,
                  sparse({{.kind = kBlockwise, .heads = {0, 1}, .block = 2, .shift = 0},
                          {.kind = kBlockwise, .heads = {2}, .block = 4, .shift = 2}})},
        ReachCase{"fixed", 3, 6, 9, 42,
                  sparse({{.kind = kBlocks, .block = 3, .before = 0},
                          {.kind = kFixed, .period = 3, .from = 2, .columns = 1}})},
        ReachCase{"window_and_global", 3, 6, 9, 42,
                  sparse({{.window = 2}, {.kind = kGlobal, .period = 6, .columns = 1}})},
        ReachCase{
            "window_global_and_random", 3, 6, 12, 48,
            sparse({{.window = 2},
                    {.kind = kGlobal, .heads = {1}, .period = 6, .columns = 1},
                    {.kind = kRandom, .block = 2, .period = 6, .count = 1, .nearest = 1, .farthest = 5, .seed = 2}})},
        ReachCase{"dilated_in_the_last_layer",
                  3,
                  4,
                  8,
                  34,
                  sparse({{.window = 2}}),
                  {{.only = {2},
                    .visibility = sparse({{.kind = kDilated, .heads = {0, 2}, .window = 3, .stride = 4},
                                          {.heads = {1}, .window = 1}})}}}),
    [](const auto& case_info) { return case_info.param.name; });

}  // namespace
}  // namespace segue
