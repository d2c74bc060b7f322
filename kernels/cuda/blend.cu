// 16 bytes to a thread, or one element; backward a block has a head's columns of some rows, whose sums a second pass
// adds up. The order depends on the shape alone.
#include <algorithm>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kBlocks = 4 * 132;    // enough to fill the largest GPUs
constexpr int64_t kLeastPartRows = 32;  // a part with fewer is not worth its share of the second pass

template <typename Element>
struct Forward {
  const Element* a;
  const Element* b;
  const float* logits;
  Element* y;
  int64_t count;
  int heads, width;
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads) blend_forward_kernel(Forward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  const float share = sigmoid(args.logits[element / args.width % args.heads]);
  float a[kWidth], b[kWidth];
  simt::load(args.a + element, a);
  simt::load(args.b + element, b);
  for (int k = 0; k < kWidth; ++k) b[k] += share * (a[k] - b[k]);
  simt::store(args.y + element, b);
}

template <typename Element>
struct Backward {
  const Element* a;
  const Element* b;
  const float* logits;
  const Element* dy;
  Element* da;
  Element* db;
  float* parts;  // [parts, heads]: of a head's logit, but for its slope
  int64_t rows, part_rows;
  int heads, width;
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads) blend_backward_kernel(Backward<Element> args) {
  const int head = simt::block();
  const float share = sigmoid(args.logits[head]);
  const float rest = sigmoid(-args.logits[head]);
  const int of_row = args.width / kWidth;
  const int64_t begin = simt::block_y() * args.part_rows;
  const int64_t count = args.rows - begin < args.part_rows ? args.rows - begin : args.part_rows;
  float sum = 0.0F;
  for (int64_t piece = simt::thread(); piece < count * of_row; piece += kThreads) {
    const int64_t row = begin + piece / of_row;
    const int64_t element = (row * args.heads + head) * args.width + piece % of_row * kWidth;
    float a[kWidth], b[kWidth], dy[kWidth];
    simt::load(args.a + element, a);
    simt::load(args.b + element, b);
    simt::load(args.dy + element, dy);
    for (int k = 0; k < kWidth; ++k) {
      sum += dy[k] * (a[k] - b[k]);
      a[k] = share * dy[k];
      b[k] = rest * dy[k];
    }
    simt::store(args.da + element, a);
    simt::store(args.db + element, b);
  }
  sum = simt::reduce_block(sum, 0.0F, simt::Sum());
  if (simt::thread() == 0) args.parts[simt::block_y() * args.heads + head] = sum;
}

struct Totals {
  const float* parts;
  const float* logits;
  float* dlogits;
  int count, heads;
};

// A warp has a head.
__global__ void blend_totals_kernel(Totals args) {
  const int64_t head = simt::my_row<true>();
  if (head >= args.heads) return;
  float sum = 0.0F;
  for (int part = simt::lane(); part < args.count; part += simt::kWarp) sum += args.parts[part * args.heads + head];
  sum = simt::reduce_warp(sum, simt::Sum());
  const float logit = args.logits[head];
  if (simt::lane() == 0) args.dlogits[head] += sigmoid(logit) * sigmoid(-logit) * sum;
}

}  // namespace

void blend_forward(Queue& queue, const BlendForward& args) {
  const Shape& shape = args.a.shape;
  const int64_t count = args.a.elements();
  simt::with_access(args.a.dtype, shape[2], {args.a, args.b, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "blend_forward", {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 blend_forward_kernel<Element, kWidth>,
                 Forward<Element>{.a = args.a.as<Element>(),
                                  .b = args.b.as<Element>(),
                                  .logits = args.logits.as<float>(),
                                  .y = args.y.as<Element>(),
                                  .count = count,
                                  .heads = static_cast<int>(shape[1]),
                                  .width = static_cast<int>(shape[2])});
  });
}

void blend_backward(Queue& queue, const BlendBackward& args) {
  const Shape& shape = args.a.shape;
  const int64_t rows = shape[0];
  const auto heads = static_cast<int>(shape[1]);
  const int64_t wanted = std::clamp<int64_t>(kBlocks / heads, 1, simt::divide_up(rows, kLeastPartRows));
  const int64_t part_rows = simt::divide_up(rows, wanted);
  const auto parts = static_cast<int>(simt::divide_up(rows, part_rows));
  auto* sums = static_cast<float*>(queue.cuda().scratch(parts * heads * static_cast<int64_t>(sizeof(float))));
  simt::with_access(args.a.dtype, shape[2], {args.a, args.b, args.dy, args.da, args.db}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "blend_backward", {.x = heads, .y = parts, .threads = kThreads},
                 blend_backward_kernel<Element, kWidth>,
                 Backward<Element>{.a = args.a.as<Element>(),
                                   .b = args.b.as<Element>(),
                                   .logits = args.logits.as<float>(),
                                   .dy = args.dy.as<Element>(),
                                   .da = args.da.as<Element>(),
                                   .db = args.db.as<Element>(),
                                   .parts = sums,
                                   .rows = rows,
                                   .part_rows = part_rows,
                                   .heads = heads,
                                   .width = static_cast<int>(shape[2])});
  });
  simt::launch(queue.cuda(), "blend_backward", simt::launch_of_warp_rows(heads), blend_totals_kernel,
               Totals{.parts = sums,
                      .logits = args.logits.as<float>(),
                      .dlogits = args.dlogits.as<float>(),
                      .count = parts,
                      .heads = heads});
}

}  // namespace segue::kernels::cuda
