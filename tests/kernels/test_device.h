// Which device a program's tests run on: the programs of kernels are the same tests, linked with different answers.
#pragma once

#include "base/device.h"

namespace segue::kernels {

Device test_device();

}  // namespace segue::kernels
