// A few large products, clocked.
#include "core/train/peak_rate.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/buffer.h"
#include "kernels/matmul.h"

namespace segue {

namespace {

constexpr int64_t kExtent = 1024;
constexpr double kSeconds = 0.04;  // of products, after which no other begins
constexpr int kLeastProducts = 3;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double measure_peak_rate(kernels::Stream& stream, DType dtype) {
  const OwnedTensor zeros(DType::kFloat32, {kExtent, kExtent});  // as fast as other numbers, on a CPU
  const OwnedTensor factor = converted_copy(zeros.view(), dtype, stream.device());
  OwnedTensor product(dtype, zeros.shape(), stream.device());
  const auto multiply = [&] { kernels::matmul(stream, {.a = factor.view(), .b = factor.view(), .c = product.view()}); };
  multiply();  // makes oneDNN compile it, touches the memory and wakes the threads
  double least = std::numeric_limits<double>::infinity();
  const auto begin = std::chrono::steady_clock::now();
  for (int products = 0; products < kLeastProducts || seconds_since(begin) < kSeconds; ++products) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    least = std::min(least, seconds_since(start));
  }
  return 2.0 * static_cast<double>(kExtent * kExtent * kExtent) / least;
}

}  // namespace segue
