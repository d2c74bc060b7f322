// Runs the tests in every rank of a job; only the first says how they went, the others only what failed.
#include <gtest/gtest.h>

#include <memory>

#include "tests/distributed/job.h"

namespace segue {

namespace {

std::unique_ptr<Communicator>& open_job() {
  static std::unique_ptr<Communicator> communicator;
  return communicator;
}

}  // namespace

Communicator& job() { return *open_job(); }

}  // namespace segue

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  segue::open_job() = segue::open_communicator({.device = {}, .timeout_seconds = 60.0});
  if (segue::job().rank() != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  segue::open_job().reset();
  return failed;
}
