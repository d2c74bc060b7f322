// Which device has which table.
#include "kernels/operations.h"

#include "kernels/cpu/operations.h"
#include "kernels/cuda/operations.h"

namespace segue::kernels {

const Operations& operations_of(DeviceKind device) {
  return device == DeviceKind::kCuda ? cuda::operations() : cpu::best_level();
}

}  // namespace segue::kernels
