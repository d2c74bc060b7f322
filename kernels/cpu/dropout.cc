// Dropout in pieces whose mask stays in the first-level cache.
#include "kernels/cpu/dropout.h"

#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;

// out[e] = in[e] * m[e], or += with kAccumulate.
template <bool kAccumulate>
void multiply(const Stream& stream, const Dropout& dropout, ConstTensorView from, TensorView to) {
  const int64_t count = from.elements();
  const float* in = from.as<float>();
  float* out = to.as<float>();
  const int64_t pieces = (count + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) num_threads(threads_for(stream, count))
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = piece * kPiece;
    const int64_t size = std::min(kPiece, count - first);
    std::array<float, kPiece> mask;
    dropout_multipliers(dropout, static_cast<uint64_t>(first), size, mask.data());
#pragma omp simd
    for (int64_t e = 0; e < size; ++e) {
      const float value = in[first + e] * mask[e];
      out[first + e] = kAccumulate ? out[first + e] + value : value;
    }
  }
}

}  // namespace

void dropout_forward(const Stream& stream, const DropoutForward& args) {
  const auto pass = args.accumulate ? multiply<true> : multiply<false>;
  pass(stream, args.dropout, args.x, args.y);
}

void dropout_backward(const Stream& stream, const DropoutBackward& args) {
  const auto pass = args.accumulate ? multiply<true> : multiply<false>;
  pass(stream, args.dropout, args.dy, args.dx);
}

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
