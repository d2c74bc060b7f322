// The contracts of a job and its collectives, on values whose sums are exact in any order: every comparison is to the
// bit. The same tests run between processors, between emulated GPUs and between real ones.
#include "distributed/collectives.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/bfloat16.h"
#include "base/buffer.h"
#include "distributed/share.h"
#include "tests/distributed/job.h"

namespace segue {

namespace {

// Small whole numbers: element e of those of `rank`.
double number(int rank, int64_t e) { return static_cast<double>((e * 7 + int64_t{rank} * 13) % 101) - 50.0; }

double sum_of_ranks(int64_t e) {
  double sum = 0.0;
  for (int r = 0; r < job().size(); ++r) sum += number(r, e);
  return sum;
}

template <typename T>
OwnedTensor numbers(int64_t count) {
  OwnedTensor tensor(dtype_of<T>(), {count});
  for (int64_t e = 0; e < count; ++e) tensor.as<T>()[e] = static_cast<T>(number(job().rank(), e));
  return tensor;
}

// A copy where collectives find it.
OwnedTensor handed_over(const OwnedTensor& host) {
  OwnedTensor tensor(host.view().dtype, host.shape(), job_device());
  copy_tensor(tensor.view(), host.view(), job_device());
  return tensor;
}

// The result of the collectives on it.
OwnedTensor result(const OwnedTensor& tensor) {
  collectives().wait();
  return host_copy(tensor.view(), job_device());
}

TEST(Share, DealsInOrderTheLargerFirst) {
  EXPECT_EQ(share_of(10, 3, 0), (Share{0, 4}));
  EXPECT_EQ(share_of(10, 3, 1), (Share{4, 3}));
  EXPECT_EQ(share_of(10, 3, 2), (Share{7, 3}));
  EXPECT_EQ(share_of(2, 3, 2), (Share{2, 0}));
}

template <typename T>
void expect_reduced(int64_t count) {
  OwnedTensor values = handed_over(numbers<T>(count));
  collectives().all_reduce(values.view());
  const OwnedTensor found = result(values);
  for (int64_t e = 0; e < count; ++e) ASSERT_EQ(found.as<T>()[e], static_cast<T>(sum_of_ranks(e))) << count << " " << e;
}

TEST(Collectives, AllReduceSumsOverRanks) {
  for (const int64_t count : {1, 2, 31, 1000, 300007, 2000003}) {
    expect_reduced<float>(count);
    expect_reduced<double>(count);
    expect_reduced<int64_t>(count);
  }
}

void expect_scattered(int64_t part) {
  const OwnedTensor host = numbers<float>(part * job().size());
  const OwnedTensor values = handed_over(host);
  OwnedTensor mine(DType::kFloat32, {part}, job_device());
  collectives().reduce_scatter(values.view(), mine.view());
  const OwnedTensor found = result(mine);
  for (int64_t e = 0; e < part; ++e)
    ASSERT_EQ(found.as<float>()[e], static_cast<float>(sum_of_ranks(job().rank() * part + e))) << part << " " << e;
  const OwnedTensor after = result(values);
  for (int64_t e = 0; e < part * job().size(); ++e) ASSERT_EQ(after.as<float>()[e], host.as<float>()[e]) << e;
}

TEST(Collectives, ReduceScatterGivesEachItsPartAndLeavesTheValues) {
  for (const int64_t part : {1, 1003, 700001}) expect_scattered(part);
}

void expect_gathered(int64_t part) {
  const OwnedTensor mine = handed_over(numbers<double>(part));
  OwnedTensor all(DType::kFloat64, {part * job().size()}, job_device());
  collectives().all_gather(mine.view(), all.view());
  const OwnedTensor found = result(all);
  for (int64_t e = 0; e < part * job().size(); ++e)
    ASSERT_EQ(found.as<double>()[e], number(static_cast<int>(e / part), e % part)) << part << " " << e;
}

TEST(Collectives, AllGatherPutsPartsInOrder) {
  for (const int64_t part : {1, 517, 300001}) expect_gathered(part);
}

TEST(Collectives, AllGatherLeavesAPartWhereItIs) {
  const int64_t part = 517;
  OwnedTensor host(DType::kBFloat16, {part * job().size()});
  BFloat16* mine = host.as<BFloat16>() + job().rank() * part;
  for (int64_t e = 0; e < part; ++e) mine[e] = BFloat16(static_cast<float>(number(job().rank(), e)));
  OwnedTensor all = handed_over(host);
  collectives().all_gather(all.view().rows(job().rank() * part, part), all.view());
  const OwnedTensor found = result(all);
  for (int64_t e = 0; e < part * job().size(); ++e) {
    const double expected = number(static_cast<int>(e / part), e % part);
    ASSERT_EQ(static_cast<float>(found.as<BFloat16>()[e]), static_cast<float>(expected)) << e;
  }
}

TEST(Job, SmallThingsAreSummedAndGatheredOnTheCpu) {
  std::vector<double> values{number(job().rank(), 0), number(job().rank(), 1)};
  job().sum(values);
  EXPECT_EQ(values, (std::vector<double>{sum_of_ranks(0), sum_of_ranks(1)}));
  const std::vector<std::string> said = job().gather(std::string(static_cast<size_t>(job().rank() * 3), 'x'));
  ASSERT_EQ(std::ssize(said), job().size());
  for (size_t r = 0; r < said.size(); ++r) EXPECT_EQ(said[r], std::string(r * 3, 'x'));
}

// Thirds, whose sum depends on its order.
void expect_same_bits(int64_t count) {
  OwnedTensor host(DType::kFloat32, {count});
  for (int64_t e = 0; e < count; ++e) host.as<float>()[e] = static_cast<float>(number(job().rank(), e)) / 3.0F;
  OwnedTensor once = handed_over(host);
  OwnedTensor twice = handed_over(host);
  collectives().all_reduce(once.view());
  collectives().all_reduce(twice.view());
  const OwnedTensor first = result(once);
  const OwnedTensor second = result(twice);
  const auto size = static_cast<size_t>(count) * sizeof(float);
  EXPECT_EQ(std::memcmp(first.as<float>(), second.as<float>(), size), 0) << count;
  const std::string_view bits(reinterpret_cast<const char*>(first.as<float>()), size);
  const std::vector<std::string> found = job().gather(bits);
  for (size_t r = 0; r < found.size(); ++r) EXPECT_TRUE(found[r] == bits) << count << ", rank " << r;
}

TEST(Collectives, TheSameSumToTheBitTwiceAndOnEveryRank) {
  for (const int64_t count : {3, 5000, 400001}) expect_same_bits(count);
}

TEST(Job, RanksAreNumberedAndMeet) {
  EXPECT_GE(job().rank(), 0);
  EXPECT_LT(job().rank(), job().size());
  EXPECT_LE(job().local_rank(), job().rank());
  for (int i = 0; i < 100; ++i) job().barrier();
}

TEST(Collectives, RefusesWhatItCannotSum) {
  OwnedTensor values(DType::kUInt8, {4}, job_device());
  EXPECT_THROW(collectives().all_reduce(values.view()), ContractError);
}

}  // namespace

}  // namespace segue
