// Ranks on processors of different levels clip alike and update alike, to the last bit, when their gradients are equal.
#include "kernels/cpu/operations.h"
#include "kernels/gradient_clip.h"
#include "kernels/lamb.h"
#include "kernels/optimizer_step.h"
#include "tests/kernels/cpu/asked_level.h"
#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

constexpr int64_t kCount = 70001;
constexpr int64_t kFirstChunk = 40003;

// The tensors a rank computes with: enough steps that every moment takes part.
class Rank {
 public:
  Rank(const char* level, int threads) : asked_(level), queue_(threads) {}

  void adam(int64_t step) {
    adam_step(queue_, {.update = clipped_update(),
                       .first_moment = m_.view(),
                       .second_moment = v_.view(),
                       .weight_decay = 0.01,
                       .step = step});
  }
  void adagrad() { adagrad_step(queue_, {clipped_update(), v_.view()}); }
  void sgd() { sgd_step(queue_, {clipped_update(), {}, 0.0}); }
  void momentum() { sgd_step(queue_, {clipped_update(), m_.view(), 0.9}); }
  void lamb() {
    const ParameterUpdate update = clipped_update();
    lamb_moments(queue_, {.parameters = p_.view(),
                          .gradients = gradients_.view(),
                          .first_moment = m_.view(),
                          .second_moment = v_.view(),
                          .chunks = chunks_.view(),
                          .sums = sums_.view(),
                          .clipped = update.clipped,
                          .weight_decay = 0.01});
    lamb_norms(queue_, {sums_.view(), starts_.view(), squares_.view()});
    lamb_step(queue_, {.parameters = p_.view(),
                       .first_moment = m_.view(),
                       .second_moment = v_.view(),
                       .chunks = chunks_.view(),
                       .squares = squares_.view(),
                       .compute_copy = copy_.view(),
                       .clipped = update.clipped,
                       .learning_rate = 0.1,
                       .weight_decay = 0.01});
  }

  void expect_equal(const Rank& other) const {
    expect_identical("parts", parts_.view(), other.parts_.view());
    expect_identical("outcome", outcome_.view(), other.outcome_.view());
    expect_identical("parameters", p_.view(), other.p_.view());
    expect_identical("first moment", m_.view(), other.m_.view());
    expect_identical("second moment", v_.view(), other.v_.view());
    expect_identical("squares", squares_.view(), other.squares_.view());
    expect_identical("copy", copy_.view(), other.copy_.view());
  }

 private:
  ParameterUpdate clipped_update() {
    gradient_norm(queue_, {gradients_.view(), parts_.view()});
    clip_gradients(queue_, {parts_.view(), 1.0, outcome_.view()});
    return {.parameters = p_.view(),
            .gradients = gradients_.view(),
            .compute_copy = copy_.view(),
            .clipped = outcome_.view(),
            .learning_rate = 0.1};
  }
  static TestTensor integers(const Shape& shape, const std::vector<int64_t>& values) {
    TestTensor tensor(DType::kInt64, shape);
    std::copy(values.begin(), values.end(), tensor.as<int64_t>());
    return tensor;
  }

  AskedLevel asked_;
  Queue queue_;
  TestTensor p_ = random_tensor({kCount}, 1), gradients_ = random_tensor({kCount}, 2);
  TestTensor m_ = filled_tensor({kCount}, 0.0F), v_ = filled_tensor({kCount}, 0.0F);
  TestTensor copy_{DType::kBFloat16, {kCount}};
  TestTensor parts_{DType::kFloat64, {kGradientNormParts}}, outcome_{DType::kFloat64, {2}};
  TestTensor chunks_ =
      integers({2, kLambChunkFields}, {0, 0, 0, kFirstChunk, 1, kFirstChunk, kFirstChunk, kCount - kFirstChunk});
  TestTensor starts_ = integers({3}, {0, 1, 2});
  TestTensor sums_{DType::kFloat64, {2, 2}}, squares_{DType::kFloat64, {2, 2}};
};

void expect_equal_after(void (*steps)(Rank&)) {
  // Where a processor runs one level only, there is no other to be equal to.
  if (cpu::best_level().level != "x86-64-v4") GTEST_SKIP() << "no AVX-512 here";
  Rank lower("x86-64-v3", 1), higher("x86-64-v4", 2);
  steps(lower);
  steps(higher);
  lower.expect_equal(higher);
}

TEST(EqualLevels, Adam) {
  expect_equal_after([](Rank& rank) {
    for (int64_t step = 1; step <= 3; ++step) rank.adam(step);
  });
}

TEST(EqualLevels, Adagrad) {
  expect_equal_after([](Rank& rank) {
    for (int step = 0; step < 3; ++step) rank.adagrad();
  });
}

TEST(EqualLevels, GradientDescent) {
  expect_equal_after([](Rank& rank) {
    for (int step = 0; step < 3; ++step) rank.sgd();
  });
}

TEST(EqualLevels, GradientDescentWithMomentum) {
  expect_equal_after([](Rank& rank) {
    for (int step = 0; step < 3; ++step) rank.momentum();
  });
}

TEST(EqualLevels, Lamb) {
  expect_equal_after([](Rank& rank) {
    for (int step = 0; step < 3; ++step) rank.lamb();
  });
}

}  // namespace

}  // namespace segue::kernels
