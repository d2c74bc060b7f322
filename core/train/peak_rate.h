// What a processor or GPU reaches in matrix products: the yardstick of a run's `mfu`.
#pragma once

#include "base/tensor.h"
#include "kernels/stream.h"

namespace segue {

// Floating point operations per second of a product of matrices of 1024 by 1024, or on a GPU of 8192 by 8192 or the
// first that takes it a millisecond; the best of a few within some hundredths of a second.
double measure_peak_rate(kernels::Stream& stream, DType dtype);

}  // namespace segue
