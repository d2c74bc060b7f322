// What every operation of a GPU does in a build without CUDA.
#pragma once

#include "base/error.h"

namespace segue::kernels::cuda {

[[noreturn]] inline void refuse() { throw DeviceError("this program was built without CUDA"); }

}  // namespace segue::kernels::cuda
