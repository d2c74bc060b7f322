// Buckets are summed over ranks whenever they are handed over, and a failure comes out where it is waited for.
#include "core/train/gradient_exchange.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/bench/slow_link.h"
#include "tests/distributed/job.h"

namespace segue {
namespace {

constexpr int64_t kElements = 1920;  // 160 times 12: for up to 4 ranks
constexpr int64_t kBucket = 200;

// Whole numbers: their sums are exact in any order.
float number(int rank, int64_t e) { return static_cast<float>((e * 7 + int64_t{rank} * 13) % 101); }

float sum_of_ranks(int64_t e) {
  float sum = 0.0F;
  for (int rank = 0; rank < job().size(); ++rank) sum += number(rank, e);
  return sum;
}

void fill(OwnedTensor& gradients) {
  for (int64_t e = 0; e < kElements; ++e) gradients.as<float>()[e] = number(job().rank(), e);
}

// As a backward that completes `stride` elements at a time.
void hand_over(GradientExchange& exchange, const OwnedTensor& gradients, int64_t stride) {
  const Tape::GradientProgress progress = exchange.progress();
  for (int64_t open = kElements - stride; open > 0; open -= stride) progress(gradients.view().rows(open, 1).data);
  progress(nullptr);
}

TEST(GradientExchange, SumsEveryBucketOnce) {
  kernels::Queue queue(1);
  OwnedTensor gradients(DType::kFloat32, {kElements});
  for (const int64_t bucket : {int64_t{0}, int64_t{16}, kBucket}) {
    const auto exchange = make_gradient_exchange({gradients.view(), {}, {kElements, bucket}}, collectives(), queue);
    for (const int64_t stride : {1L, 77L, 500L, kElements}) {
      fill(gradients);
      hand_over(*exchange, gradients, stride);
      exchange->finish();
      for (int64_t e = 0; e < kElements; ++e)
        ASSERT_EQ(gradients.as<float>()[e], sum_of_ranks(e)) << bucket << " " << stride << " " << e;
    }
  }
}

TEST(GradientExchange, GivesEveryRankTheSumsOfItsParts) {
  kernels::Queue queue(1);
  const Buckets buckets(kElements, kBucket, job().size());
  OwnedTensor gradients(DType::kFloat32, {kElements});
  OwnedTensor shard(DType::kFloat32, {buckets.shard_elements()});
  const auto exchange = make_gradient_exchange({gradients.view(), shard.view(), buckets}, collectives(), queue);
  fill(gradients);
  hand_over(*exchange, gradients, 50);
  exchange->finish();
  for (int64_t b = 0; b < buckets.count(); ++b) {
    const Share part = buckets.part(b, job().rank());
    for (int64_t i = 0; i < part.count; ++i)
      ASSERT_EQ(shard.as<float>()[buckets.in_shard(b).first + i], sum_of_ranks(part.first + i)) << b << " " << i;
  }
}

TEST(GradientExchange, MeasuresAStep) {
  kernels::Queue queue(1);
  SlowLink slow(collectives(), 1e12, 0.01);
  OwnedTensor gradients(DType::kFloat32, {kElements});
  const auto exchange = make_gradient_exchange({gradients.view(), {}, {kElements, 0}}, slow, queue);
  for (int step = 0; step < 3; ++step) {
    hand_over(*exchange, gradients, kElements);
    exchange->finish();
  }
  const ExchangeTimes times = exchange->take_times();
  EXPECT_GE(times.exchanging, 0.01);
  EXPECT_GT(times.exposed, 0.0);
  EXPECT_EQ(exchange->take_times().exchanging, 0.0);
}

// Collectives whose sums fail.
class BrokenLink : public SlowLink {
 public:
  explicit BrokenLink(Collectives& sound) : SlowLink(sound, 1e12, 0.0) {}
  void all_reduce(TensorView /*values*/) override { throw PeerError("cut"); }
};

TEST(GradientExchange, FailsWhereItIsWaitedFor) {
  kernels::Queue queue(1);
  BrokenLink broken(collectives());
  OwnedTensor gradients(DType::kFloat32, {kElements});
  const auto exchange = make_gradient_exchange({gradients.view(), {}, {kElements, kBucket}}, broken, queue);
  hand_over(*exchange, gradients, 50);
  EXPECT_THROW(exchange->finish(), PeerError);
}

TEST(GradientExchange, EndsWithoutAStep) {
  kernels::Queue queue(1);
  OwnedTensor gradients(DType::kFloat32, {kElements});
  make_gradient_exchange({gradients.view(), {}, {kElements, kBucket}}, collectives(), queue);
}

}  // namespace
}  // namespace segue
