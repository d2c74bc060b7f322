// Runs the tests in every rank of a job; only the first says how they went, the others only what failed.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "distributed/communicator_choice.h"
#include "tests/distributed/job.h"

namespace segue {

namespace {

struct Job {
  std::unique_ptr<Communicator> host;
  std::unique_ptr<Communicator> between_gpus;
};

Job& open_job() {
  static Job opened;
  return opened;
}

// One rank alone would not take NCCL by itself; here it is what is to be tested, where there is one.
std::unique_ptr<Communicator> open_between_gpus() {
  const std::shared_ptr<Logger> logger = make_logger(!host_job().is_first());
  const auto open = [&](CommunicatorKind kind) {
    return open_gpu_communicator(host_job(), job_device(), kind, 60.0, *logger);
  };
  if (host_job().size() > 1) return open(CommunicatorKind::kAuto);
  try {
    return open(CommunicatorKind::kNccl);
  } catch (const DeviceError& error) {
    logger->warn("{}", error.what());
    return nullptr;
  }
}

}  // namespace

Communicator& host_job() { return *open_job().host; }
Communicator& job() { return open_job().between_gpus ? *open_job().between_gpus : host_job(); }

}  // namespace segue

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  segue::Job& opened = segue::open_job();
  opened.host = segue::open_communicator({.timeout_seconds = 60.0});
  try {
    if (segue::job_device().is_cuda()) opened.between_gpus = segue::open_between_gpus();
  } catch (const segue::DeviceError& error) {
    std::puts(error.what());
    return std::string_view(error.what()) == "no GPU here" ? 0 : 1;
  }
  if (segue::job().rank() == 0) {
    std::printf("%d ranks over %s\n", segue::job().size(), segue::job().name());
  } else {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  opened.between_gpus.reset();
  opened.host.reset();
  return failed;
}
