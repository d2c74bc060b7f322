// Dropout in pieces whose mask stays in the first-level cache.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;

// out[e] = in[e] * m[e], or += with kAccumulate.
template <typename A, bool kAccumulate>
void multiply(const Queue& queue, const Dropout& dropout, ConstTensorView from, TensorView to) {
  const int64_t count = from.elements();
  const A* in = from.as<A>();
  A* out = to.as<A>();
  const int64_t pieces = (count + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = piece * kPiece;
    const int64_t size = std::min(kPiece, count - first);
    std::array<float, kPiece> mask;
    dropout_multipliers(dropout, static_cast<uint64_t>(first), size, mask.data());
#pragma omp simd
    for (int64_t e = 0; e < size; ++e) {
      const float value = load(in + first + e) * mask[e];
      store(out + first + e, kAccumulate ? load(out + first + e) + value : value);
    }
  }
}

void run(const Queue& queue, const Dropout& dropout, ConstTensorView from, TensorView to, bool accumulate) {
  with_activations(from.dtype, [&]<typename A>() {
    const auto pass = accumulate ? multiply<A, true> : multiply<A, false>;
    pass(queue, dropout, from, to);
  });
}

}  // namespace

void dropout_forward(Queue& queue, const DropoutForward& args) {
  run(queue, args.dropout, args.x, args.y, args.accumulate);
}

void dropout_backward(Queue& queue, const DropoutBackward& args) {
  run(queue, args.dropout, args.dy, args.dx, args.accumulate);
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
