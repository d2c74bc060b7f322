// Tests on a GPU, real or emulated.
#include <gtest/gtest.h>

#include <memory>

#include "base/cuda.h"
#include "tests/kernels/test_device.h"

namespace segue::kernels {

Device test_device() { return {DeviceKind::kCuda, 0}; }

namespace {

class NeedsGpu : public testing::Environment {
 public:
  void SetUp() override {
    // Without one the same tests still run on the emulated GPU: the *_simt_test beside each.
    if (segue::cuda::device_count() == 0) GTEST_SKIP() << "no GPU here";
  }
};

const testing::Environment* const kNeedsGpu = testing::AddGlobalTestEnvironment(std::make_unique<NeedsGpu>().release());

}  // namespace

}  // namespace segue::kernels
