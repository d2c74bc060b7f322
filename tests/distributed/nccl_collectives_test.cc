// NCCL, emulated or stood in for, when it fails, when it is recorded in a graph, and beside the job it stands on.
#include "distributed/nccl_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kernels/cuda/queue.h"
#include "tests/distributed/job.h"
#include "tests/message_of.h"
#include "tests/simt/nccl.h"

namespace segue {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kSoon = 0.3;

OwnedTensor ones(int64_t count) {
  OwnedTensor host(DType::kFloat32, {count});
  std::fill_n(host.as<float>(), count, 1.0F);
  return converted_copy(host.view(), DType::kFloat32, job_device());
}

float first_of(const OwnedTensor& tensor) { return host_copy(tensor.view(), job_device()).as<float>()[0]; }

TEST(NcclCollectives, IsWhatCarriesTensorsBetweenGpus) {
  EXPECT_STREQ(collectives().name(), "NCCL");
  EXPECT_NE(collectives().stream(), nullptr);
  EXPECT_EQ(collectives().rank(), job().rank());
  EXPECT_EQ(collectives().size(), job().size());
}

TEST(NcclCollectives, IsRecordedWithTheStreamThatWaitsForIt) {
  cuda::Queue compute(job_device().index);
  OwnedTensor values = ones(5);
  cuda::Fence fork;
  cuda::Fence join;
  cuda::Graph graph;
  graph.record(compute, [&] {
    fork.set(compute.stream());
    fork.hold(collectives().stream());
    collectives().all_reduce(values.view());
    join.set(collectives().stream());
    join.hold(compute.stream());
  });
  EXPECT_EQ(first_of(values), 1.0F);
  const auto ranks = static_cast<float>(job().size());
  graph.launch(compute);
  collectives().wait();
  EXPECT_EQ(first_of(values), ranks);
  graph.launch(compute);
  EXPECT_EQ(first_of(values), ranks * ranks);
}

TEST(NcclCollectives, AnErrorOfACallNamesStepRankAndHost) {
  NcclCollectives tested(job(), job_device(), 60.0);
  job().at_step(7);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kRefusedCall);
  const std::string message = message_of<PeerError>([&] { tested.all_reduce(values.view()); });
  EXPECT_THAT(message, AllOf(StartsWith("step 7: all_reduce: NCCL failed on rank " + std::to_string(job().rank())),
                             HasSubstr("host "), HasSubstr("injected: refused")));
  EXPECT_THROW(tested.all_reduce(values.view()), PeerError);
  EXPECT_THROW(tested.check_progress(0.0), PeerError);
}

TEST(NcclCollectives, AnErrorBehindTheScenesEndsTheWait) {
  NcclCollectives tested(job(), job_device(), 60.0);
  OwnedTensor values = ones(5);
  tested.check_progress(1.0);
  nccl::inject(nccl::Fault::kLateError);
  tested.all_reduce(values.view());
  EXPECT_THAT(message_of<PeerError>([&] { tested.wait(); }), HasSubstr("injected: the peer is gone"));
}

// As when the job has ended elsewhere: nothing waits for the ranks that will not come.
TEST(NcclCollectives, WhatIsAbandonedIsNotWaitedFor) {
  NcclCollectives tested(job(), job_device(), 60.0);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kHang);
  tested.all_reduce(values.view());
  tested.abandon();
  EXPECT_THAT(message_of<PeerError>([&] { tested.check_progress(0.0); }), HasSubstr("NCCL was aborted"));
}

// The stream of the kernels waits for the collective, and the host for that stream.
TEST(NcclCollectives, AQueueThatWaitsForItIsWatched) {
  NcclCollectives tested(job(), job_device(), 60.0);
  cuda::Queue compute(job_device().index);
  compute.watch_with([&](double seconds) { tested.check_progress(seconds); });
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kLateError);
  tested.all_reduce(values.view());
  cuda::Fence fence;
  fence.set(tested.stream());
  EXPECT_THROW(compute.wait_for(fence), PeerError);
}

// Ranks that give up ask who is there, for seconds: CMakeLists.txt says how many ranks run which of these.
TEST(NcclTimeout, RanksThatWaitInVainGiveUp) {
  NcclCollectives tested(job(), job_device(), kSoon);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kHang);
  tested.all_reduce(values.view());
  EXPECT_THAT(message_of<PeerError>([&] { tested.wait(); }), HasSubstr("waiting for a GPU"));
  EXPECT_THROW(tested.check_progress(0.0), PeerError);
}

TEST(NcclTimeout, EndsACallThatIsNeverQueued) {
  NcclCollectives tested(job(), job_device(), kSoon);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kHangingCall);
  EXPECT_THAT(message_of<PeerError>([&] { tested.all_reduce(values.view()); }), HasSubstr("all_reduce"));
}

TEST(NcclTimeout, EndsAStartThatNeverEnds) {
  nccl::inject(nccl::Fault::kHangingCall);
  EXPECT_THAT(message_of<PeerError>([] { NcclCollectives(job(), job_device(), kSoon); }), HasSubstr("NCCL's start"));
}

}  // namespace

}  // namespace segue
