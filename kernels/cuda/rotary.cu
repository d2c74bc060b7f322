// A block to a row: its angles once, then a thread to 16 bytes of its vectors, or to a pair of columns.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/rotary_scalars.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 128;

template <typename Element>
struct Arguments {
  const Element* from;
  Element* to;
  int64_t rows;  // of a stream
  int64_t first_position;
  int vectors;  // of a row
  int walked;   // the first ones, which are written
  int turned;   // the first of those
  int head;     // columns of a vector
  int width;
  float direction;
  RotaryFrequencies frequencies;
};

// Columns at a time: a pair at least.
template <int kWidth>
constexpr int kPiece = kWidth < 2 ? 2 : kWidth;

// Where single elements are all that is aligned, the second of a pair may lie beyond the vector.
template <int kWidth, typename Element>
__device__ __forceinline__ void load_piece(const Element* from, bool has_second, float (&x)[kPiece<kWidth>]) {
  if constexpr (kWidth < 2) {
    x[0] = simt::as_float(from[0]);
    x[1] = has_second ? simt::as_float(from[1]) : 0.0F;
  } else {
    simt::load(from, x);
  }
}

template <int kWidth, typename Element>
__device__ __forceinline__ void store_piece(Element* to, bool has_second, const float (&x)[kPiece<kWidth>]) {
  if constexpr (kWidth < 2) {
    to[0] = static_cast<Element>(x[0]);
    if (has_second) to[1] = static_cast<Element>(x[1]);
  } else {
    simt::store<kPiece<kWidth>>(to, x);
  }
}

template <typename Element>
__device__ __forceinline__ void find_angles(const Arguments<Element>& args, RotaryAngles& angles) {
  const double position = static_cast<double>(args.first_position + simt::block());
  for (int j = simt::thread(); j < args.width / 2; j += kThreads) {
    const double turns = position * args.frequencies[j];
    const double lost = fma(position, args.frequencies[j], -turns);  // to rounding
    const double angle = kFullTurn * (turns - rint(turns) + lost);
    angles.cosine[j] = static_cast<float>(cos(angle));
    angles.sine[j] = args.direction * static_cast<float>(sin(angle));
  }
  simt::sync_block();
}

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads) rotary_kernel(Arguments<Element> args) {
  RotaryAngles& angles = simt::static_shared<RotaryAngles, 0>();
  find_angles(args, angles);
  const int64_t first = (simt::block_y() * args.rows + simt::block()) * args.vectors * args.head;
  const int pieces = (args.head + kPiece<kWidth> - 1) / kPiece<kWidth>;  // of a vector
  for (int piece = simt::thread(); piece < args.walked * pieces; piece += kThreads) {
    const int vector = piece / pieces;
    const int column = piece % pieces * kPiece<kWidth>;
    const int64_t element = first + vector * args.head + column;
    const bool has_second = column + 1 < args.head;
    float x[kPiece<kWidth>];
    load_piece<kWidth>(args.from + element, has_second, x);
    for (int k = 0; k < kPiece<kWidth>; k += 2) {
      if (vector >= args.turned || column + k >= args.width) continue;
      const float cosine = angles.cosine[(column + k) / 2];
      const float sine = angles.sine[(column + k) / 2];
      const float even = x[k];
      x[k] = even * cosine - x[k + 1] * sine;
      x[k + 1] = even * sine + x[k + 1] * cosine;
    }
    store_piece<kWidth>(args.to + element, has_second, x);
  }
}

}  // namespace

void rotary(Queue& queue, const RotaryRows& rows) {
  const Shape& shape = rows.from.shape;
  const bool in_place = rows.to.data == rows.from.data;
  simt::with_access(rows.from.dtype, shape[3], {rows.from, rows.to}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "rotary", {.x = shape[1], .y = static_cast<int>(shape[0]), .threads = kThreads},
                 rotary_kernel<Element, kWidth>,
                 Arguments<Element>{.from = rows.from.as<Element>(),
                                    .to = rows.to.as<Element>(),
                                    .rows = shape[1],
                                    .first_position = rows.turn.first_position,
                                    .vectors = static_cast<int>(shape[2]),
                                    .walked = static_cast<int>(in_place ? rows.turn.heads : shape[2]),
                                    .turned = static_cast<int>(rows.turn.heads),
                                    .head = static_cast<int>(shape[3]),
                                    .width = static_cast<int>(rows.turn.width),
                                    .direction = rows.direction,
                                    .frequencies = rows.frequencies});
  });
}

}  // namespace segue::kernels::cuda
