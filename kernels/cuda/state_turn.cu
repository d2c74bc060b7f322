// Two rows to a thread, which are a pair or are copied: 16 bytes of each, or one element.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

struct Arguments {
  const float* from;
  float* to;
  int64_t pieces;
  int keys, values;
  int width;  // rows that are turned
  RotaryAngles angles;
};

template <int kWidth>
__global__ void __launch_bounds__(kThreads) state_turn_kernel(Arguments args) {
  const int64_t piece = int64_t{simt::block()} * kThreads + simt::thread();
  if (piece >= args.pieces) return;
  const int of_row = args.values / kWidth;
  const int pairs = (args.keys + 1) / 2;
  const auto pair = static_cast<int>(piece / of_row % pairs);
  const int64_t row = piece / of_row / pairs * args.keys + 2 * pair;
  const int64_t first = row * args.values + piece % of_row * kWidth;
  const int64_t second = first + args.values;
  const bool has_second = 2 * pair + 1 < args.keys;
  float even[kWidth], odd[kWidth];
  simt::load(args.from + first, even);
  if (has_second) simt::load(args.from + second, odd);
  if (2 * pair < args.width) {
    const float cosine = args.angles.cosine[pair];
    const float sine = args.angles.sine[pair];
    for (int k = 0; k < kWidth; ++k) {
      const float x = even[k];
      even[k] = x * cosine - odd[k] * sine;
      odd[k] = x * sine + odd[k] * cosine;
    }
  }
  simt::store(args.to + first, even);
  if (has_second) simt::store(args.to + second, odd);
}

}  // namespace

void state_turn(Queue& queue, const TurnedState& args) {
  const Shape& shape = args.from.shape;
  simt::with_width<float>(simt::is_vectorisable(DType::kFloat32, shape[3], {args.from, args.to}), [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    const int64_t pieces = shape[0] * shape[1] * simt::divide_up(shape[2], 2) * (shape[3] / kWidth);
    simt::launch(queue.cuda(), "state_turn", {.x = simt::divide_up(pieces, kThreads), .threads = kThreads},
                 state_turn_kernel<kWidth>,
                 Arguments{.from = args.from.as<float>(),
                           .to = args.to.as<float>(),
                           .pieces = pieces,
                           .keys = static_cast<int>(shape[2]),
                           .values = static_cast<int>(shape[3]),
                           .width = static_cast<int>(args.width),
                           .angles = args.angles});
  });
}

}  // namespace segue::kernels::cuda
