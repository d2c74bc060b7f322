// Runs the tests in every rank of a job; only the first says how they went, the others only what failed.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "distributed/collectives_choice.h"
#include "tests/distributed/job.h"

namespace segue {

namespace {

struct Opened {
  std::unique_ptr<Job> job;
  std::unique_ptr<Collectives> collectives;
};

Opened& opened() {
  static Opened once;
  return once;
}

// One rank alone would not take NCCL by itself; here it is what is to be tested, where there is one.
std::unique_ptr<Collectives> open_between_gpus() {
  const std::shared_ptr<Logger> logger = make_logger(!job().is_first());
  const auto open = [&](CollectivesKind kind) {
    return open_gpu_collectives(job(), job_device(), kind, 60.0, *logger);
  };
  if (job().size() > 1) return open(CollectivesKind::kAuto);
  try {
    return open(CollectivesKind::kNccl);
  } catch (const DeviceError& error) {
    logger->warn("{}", error.what());
    return open(CollectivesKind::kMpi);
  }
}

}  // namespace

Job& job() { return *opened().job; }
Collectives& collectives() { return *opened().collectives; }

}  // namespace segue

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& [job, collectives] = segue::opened();
  job = segue::open_job({.timeout_seconds = 60.0});
  try {
    const segue::Device device = segue::job_device();
    collectives = device.is_cuda() ? segue::open_between_gpus() : job->open_collectives(device);
  } catch (const segue::DeviceError& error) {
    std::puts(error.what());
    return std::string_view(error.what()) == "no GPU here" ? 0 : 1;
  }
  if (job->is_first()) {
    std::printf("%d ranks over %s\n", job->size(), collectives->name());
  } else {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  collectives.reset();
  job.reset();
  return failed;
}
