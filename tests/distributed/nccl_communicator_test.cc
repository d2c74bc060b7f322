// NCCL, emulated or stood in for, when it fails, when it is recorded in a graph, and beside the job it stands on.
#include "distributed/nccl_communicator.h"

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

TEST(NcclCommunicator, IsWhatCarriesTensorsBetweenGpus) {
  EXPECT_STREQ(job().name(), "NCCL");
  EXPECT_NE(job().stream(), nullptr);
  EXPECT_EQ(job().rank(), host_job().rank());
  EXPECT_EQ(job().size(), host_job().size());
  EXPECT_EQ(job().local_rank(), host_job().local_rank());
}

TEST(NcclCommunicator, IsRecordedWithTheStreamThatWaitsForIt) {
  cuda::Queue compute(job_device().index);
  OwnedTensor values = ones(5);
  cuda::Fence fork;
  cuda::Fence join;
  cuda::Graph graph;
  graph.record(compute, [&] {
    fork.set(compute.stream());
    fork.hold(job().stream());
    job().all_reduce(values.view());
    join.set(job().stream());
    join.hold(compute.stream());
  });
  EXPECT_EQ(first_of(values), 1.0F);
  const auto ranks = static_cast<float>(job().size());
  graph.launch(compute);
  job().wait();
  EXPECT_EQ(first_of(values), ranks);
  graph.launch(compute);
  EXPECT_EQ(first_of(values), ranks * ranks);
}

TEST(NcclCommunicator, AnErrorOfACallNamesStepRankAndHost) {
  NcclCommunicator communicator(host_job(), job_device(), 60.0);
  communicator.at_step(7);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kRefusedCall);
  const std::string message = message_of<PeerError>([&] { communicator.all_reduce(values.view()); });
  EXPECT_THAT(message, AllOf(StartsWith("step 7: all_reduce: NCCL failed on rank " + std::to_string(job().rank())),
                             HasSubstr("host "), HasSubstr("injected: refused")));
  EXPECT_THROW(communicator.all_reduce(values.view()), PeerError);
  EXPECT_THROW(communicator.check_progress(0.0), PeerError);
}

TEST(NcclCommunicator, AnErrorBehindTheScenesEndsTheWait) {
  NcclCommunicator communicator(host_job(), job_device(), 60.0);
  OwnedTensor values = ones(5);
  communicator.check_progress(1.0);
  nccl::inject(nccl::Fault::kLateError);
  communicator.all_reduce(values.view());
  EXPECT_THAT(message_of<PeerError>([&] { communicator.wait(); }), HasSubstr("injected: the peer is gone"));
}

// The stream of the kernels waits for the collective, and the host for that stream.
TEST(NcclCommunicator, AQueueThatWaitsForItIsWatched) {
  NcclCommunicator communicator(host_job(), job_device(), 60.0);
  cuda::Queue compute(job_device().index);
  compute.watch_with([&](double seconds) { communicator.check_progress(seconds); });
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kLateError);
  communicator.all_reduce(values.view());
  cuda::Fence fence;
  fence.set(communicator.stream());
  EXPECT_THROW(compute.wait_for(fence), PeerError);
}

// Ranks that give up ask who is there, for seconds: CMakeLists.txt says how many ranks run which of these.
TEST(NcclTimeout, RanksThatWaitInVainGiveUp) {
  NcclCommunicator communicator(host_job(), job_device(), kSoon);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kHang);
  communicator.all_reduce(values.view());
  EXPECT_THAT(message_of<PeerError>([&] { communicator.wait(); }), HasSubstr("waiting for a GPU"));
  EXPECT_THROW(communicator.check_progress(0.0), PeerError);
}

TEST(NcclTimeout, EndsACallThatIsNeverQueued) {
  NcclCommunicator communicator(host_job(), job_device(), kSoon);
  OwnedTensor values = ones(5);
  nccl::inject(nccl::Fault::kHangingCall);
  EXPECT_THAT(message_of<PeerError>([&] { communicator.all_reduce(values.view()); }), HasSubstr("all_reduce"));
}

TEST(NcclTimeout, EndsAStartThatNeverEnds) {
  nccl::inject(nccl::Fault::kHangingCall);
  EXPECT_THAT(message_of<PeerError>([] { NcclCommunicator(host_job(), job_device(), kSoon); }),
              HasSubstr("NCCL's start"));
}

}  // namespace

}  // namespace segue
