// Tests on the CPU: the default, for programs that do not link another answer.
#include "tests/kernels/test_device.h"

namespace segue::kernels {

Device test_device() { return {}; }

}  // namespace segue::kernels
