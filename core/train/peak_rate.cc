#include "core/train/peak_rate.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/buffer.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "kernels/matmul.h"

namespace segue {

namespace {

constexpr int64_t kExtent = 1024;  // on a CPU
// A GPU needs larger ones, and how large depends on the GPU.
constexpr int64_t kLeastGpuExtent = 256;
constexpr int64_t kMostGpuExtent = 8192;
constexpr double kLongProduct = 1e-3;  // against which queueing one and waiting for it is nothing

constexpr double kSeconds = 0.1;  // of products, after which no other begins
constexpr int kLeastProducts = 3;

// Normal numbers, since a GPU multiplies zeros faster; rows of few repeat them.
OwnedTensor random_matrix(int64_t extent, DType dtype, Device device) {
  constexpr int64_t kDrawn = (int64_t{1} << 16) - 5;  // odd, so that rows differ
  const RandomSequence random{.seed = 1, .step = 0, .site = 1};
  OwnedTensor matrix(DType::kFloat32, {extent, extent});
  auto* const values = matrix.as<float>();
  for (int64_t i = 0; i < extent * extent; ++i)
    values[i] = i < kDrawn ? static_cast<float>(random_normal(random, static_cast<uint64_t>(i))) : values[i - kDrawn];
  return converted_copy(matrix.view(), dtype, device);
}

// Seconds of the fastest.
double time_products(kernels::Queue& queue, DType dtype, int64_t extent) {
  const OwnedTensor factor = random_matrix(extent, dtype, queue.device());
  OwnedTensor product(dtype, factor.shape(), queue.device());
  const auto multiply = [&] {
    kernels::matmul(queue, {.a = factor.view(), .b = factor.view(), .c = product.view()});
    queue.synchronize();
  };
  multiply();  // makes the library choose or compile it, touches the memory and wakes the threads
  double least = std::numeric_limits<double>::infinity();
  const auto begin = std::chrono::steady_clock::now();
  for (int products = 0; products < kLeastProducts || seconds_since(begin) < kSeconds; ++products) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    least = std::min(least, seconds_since(start));
  }
  return least;
}

}  // namespace

double measure_peak_rate(kernels::Queue& queue, DType dtype) {
  int64_t extent = queue.device().is_cuda() ? kLeastGpuExtent : kExtent;
  double seconds = time_products(queue, dtype, extent);
  while (queue.device().is_cuda() && seconds < kLongProduct && extent < kMostGpuExtent) {
    extent *= 2;
    seconds = time_products(queue, dtype, extent);
  }
  return 2.0 * static_cast<double>(extent * extent * extent) / seconds;
}

void JobPeak::measure() {
  job_.barrier();  // ranks of a host measure what they reach together
  rate_ = measure_rank_();
  job_.sum({&rate_, 1});
}

void JobPeak::correct(double reached, bool again) {
  double exceeded = rate_ > 0.0 && reached > rate_ ? 1.0 : 0.0;
  job_.sum({&exceeded, 1});  // the ranks measure together
  if (exceeded == 0.0) return;
  const double before = rate_;
  if (again) measure();
  rate_ = std::max({rate_, before, reached});
}

std::optional<double> JobPeak::share(double reached) const {
  return rate_ > 0.0 ? std::optional(reached / rate_) : std::nullopt;
}

}  // namespace segue
