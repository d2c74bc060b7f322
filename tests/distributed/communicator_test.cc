// The contract of a communicator, on values whose sums are exact in any order: every comparison is to the bit. The same
// tests run between processors, between emulated GPUs and between real ones.
#include "distributed/communicator.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bfloat16.h"
#include "base/buffer.h"
#include "tests/distributed/job.h"

namespace segue {

namespace {

// Small whole numbers: those of `rank` at place e.
double number(int rank, int64_t e) { return static_cast<double>((e * 7 + rank * 13) % 101) - 50.0; }

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

// A copy where the communicator finds it.
OwnedTensor handed_over(const OwnedTensor& host) {
  OwnedTensor tensor(host.view().dtype, host.shape(), job_device());
  copy_tensor(tensor.view(), host.view(), job_device());
  return tensor;
}

// What collectives have made of it.
OwnedTensor result(const OwnedTensor& tensor) {
  job().wait();
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
  job().all_reduce(values.view());
  const OwnedTensor found = result(values);
  for (int64_t e = 0; e < count; ++e) ASSERT_EQ(found.as<T>()[e], static_cast<T>(sum_of_ranks(e))) << count << " " << e;
}

TEST(Communicator, AllReduceSumsOverRanks) {
  for (const int64_t count : {1, 2, 31, 1000, 300007}) {
    expect_reduced<float>(count);
    expect_reduced<double>(count);
    expect_reduced<int64_t>(count);
  }
}

TEST(Communicator, ReduceScatterGivesEachItsPart) {
  const int64_t part = 1003;
  const OwnedTensor values = handed_over(numbers<float>(part * job().size()));
  OwnedTensor mine(DType::kFloat32, {part}, job_device());
  job().reduce_scatter(values.view(), mine.view());
  const OwnedTensor found = result(mine);
  for (int64_t e = 0; e < part; ++e)
    ASSERT_EQ(found.as<float>()[e], static_cast<float>(sum_of_ranks(job().rank() * part + e))) << e;
}

TEST(Communicator, AllGatherPutsPartsInOrder) {
  const int64_t part = 517;
  const OwnedTensor mine = handed_over(numbers<double>(part));
  OwnedTensor all(DType::kFloat64, {part * job().size()}, job_device());
  job().all_gather(mine.view(), all.view());
  const OwnedTensor found = result(all);
  for (int64_t e = 0; e < part * job().size(); ++e)
    ASSERT_EQ(found.as<double>()[e], number(static_cast<int>(e / part), e % part)) << e;
}

TEST(Communicator, AllGatherLeavesAPartWhereItIs) {
  const int64_t part = 517;
  OwnedTensor host(DType::kBFloat16, {part * job().size()});
  BFloat16* mine = host.as<BFloat16>() + job().rank() * part;
  for (int64_t e = 0; e < part; ++e) mine[e] = BFloat16(static_cast<float>(number(job().rank(), e)));
  OwnedTensor all = handed_over(host);
  job().all_gather(all.view().rows(job().rank() * part, part), all.view());
  const OwnedTensor found = result(all);
  for (int64_t e = 0; e < part * job().size(); ++e) {
    const double expected = number(static_cast<int>(e / part), e % part);
    ASSERT_EQ(static_cast<float>(found.as<BFloat16>()[e]), static_cast<float>(expected)) << e;
  }
}

TEST(Communicator, BroadcastCopiesAnyRoot) {
  for (int root = 0; root < job().size(); ++root) {
    OwnedTensor host(DType::kUInt8, {70001});
    for (int64_t e = 0; e < 70001; ++e) host.as<uint8_t>()[e] = static_cast<uint8_t>(job().rank() + e);
    OwnedTensor values = handed_over(host);
    job().broadcast(values.view(), root);
    const OwnedTensor found = result(values);
    for (int64_t e = 0; e < 70001; ++e) ASSERT_EQ(found.as<uint8_t>()[e], static_cast<uint8_t>(root + e)) << e;
  }
}

TEST(Communicator, SmallThingsAreSummedAndGatheredOnTheCpu) {
  std::vector<double> values{number(job().rank(), 0), number(job().rank(), 1)};
  job().sum(values);
  EXPECT_EQ(values, (std::vector<double>{sum_of_ranks(0), sum_of_ranks(1)}));
  const std::vector<std::string> said = job().gather(std::string(static_cast<size_t>(job().rank() * 3), 'x'));
  ASSERT_EQ(std::ssize(said), job().size());
  for (size_t r = 0; r < said.size(); ++r) EXPECT_EQ(said[r], std::string(r * 3, 'x'));
}

TEST(Communicator, TheSameSumToTheBitTwice) {
  OwnedTensor host(DType::kFloat32, {5000});
  for (int64_t e = 0; e < 5000; ++e) host.as<float>()[e] = static_cast<float>(number(job().rank(), e)) / 3.0F;
  OwnedTensor once = handed_over(host);
  OwnedTensor twice = handed_over(host);
  job().all_reduce(once.view());
  job().all_reduce(twice.view());
  const OwnedTensor first = result(once);
  const OwnedTensor second = result(twice);
  for (int64_t e = 0; e < 5000; ++e) ASSERT_EQ(first.as<float>()[e], second.as<float>()[e]) << e;
}

TEST(Communicator, RanksAreNumberedAndMeet) {
  EXPECT_GE(job().rank(), 0);
  EXPECT_LT(job().rank(), job().size());
  EXPECT_LE(job().local_rank(), job().rank());
  for (int i = 0; i < 100; ++i) job().barrier();
}

TEST(Communicator, RefusesWhatItCannotSum) {
  OwnedTensor values(DType::kUInt8, {4}, job_device());
  EXPECT_THROW(job().all_reduce(values.view()), ContractError);
}

}  // namespace

}  // namespace segue
