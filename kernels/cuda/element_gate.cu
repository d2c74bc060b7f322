// 16 bytes to a thread; a bias' sums over rows in a pass of their own.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Inputs {
  const Element* a;
  const Element* b;       // null: zeros
  const Element* logits;  // null: zeros
  const float* bias;      // null: zeros
  float bias_factor;
  bool is_bounded;
  int64_t columns;
};

// The next elements of a row, from `first` of the matrix on and `column` of the row.
template <int kWidth>
struct Elements {
  float passed[kWidth];
  float other[kWidth] = {};
  float z[kWidth] = {};

  template <typename Element>
  __device__ __forceinline__ Elements(const Inputs<Element>& in, int64_t first, int64_t column) {
    simt::load(in.a + first, passed);
    if (in.b != nullptr) simt::load(in.b + first, other);
    if (in.logits != nullptr) simt::load(in.logits + first, z);
    for (int k = 0; k < kWidth; ++k) {
      if (in.bias != nullptr) z[k] += in.bias_factor * in.bias[column + k];
      if (in.is_bounded) passed[k] = tanhf(passed[k]);
    }
  }

  __device__ __forceinline__ float dlogit(int k, float dy) const {
    return sigmoid(z[k]) * sigmoid(-z[k]) * dy * (passed[k] - other[k]);
  }
};

template <typename Element>
struct Forward {
  Inputs<Element> in;
  Element* y;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads) element_gate_forward_kernel(Forward<Element> args) {
  const int64_t first = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (first >= args.count) return;
  const Elements<kWidth> at(args.in, first, first % args.in.columns);
  float y[kWidth];
  for (int k = 0; k < kWidth; ++k) y[k] = at.other[k] + sigmoid(at.z[k]) * (at.passed[k] - at.other[k]);
  simt::store(args.y + first, y);
}

template <typename Element>
struct Gradient {
  Element* to;  // null: nobody wants it
  bool accumulate;

  template <int kWidth>
  __device__ __forceinline__ void put(int64_t first, float (&values)[kWidth]) const {
    if (to == nullptr) return;
    float sums[kWidth] = {};
    if (accumulate) simt::load(to + first, sums);
    for (int k = 0; k < kWidth; ++k) sums[k] += values[k];
    simt::store(to + first, sums);
  }
};

template <typename Element>
struct Backward {
  Inputs<Element> in;
  const Element* dy;
  Gradient<Element> da, db, dlogits;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads) element_gate_backward_kernel(Backward<Element> args) {
  const int64_t first = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (first >= args.count) return;
  const Elements<kWidth> at(args.in, first, first % args.in.columns);
  float dy[kWidth], da[kWidth], db[kWidth], dlogits[kWidth];
  simt::load(args.dy + first, dy);
  for (int k = 0; k < kWidth; ++k) {
    const float slope = args.in.is_bounded ? (1.0F - at.passed[k]) * (1.0F + at.passed[k]) : 1.0F;
    da[k] = sigmoid(at.z[k]) * dy[k] * slope;
    db[k] = sigmoid(-at.z[k]) * dy[k];
    dlogits[k] = at.dlogit(k, dy[k]);
  }
  args.da.put(first, da);
  args.db.put(first, db);
  args.dlogits.put(first, dlogits);
}

template <typename Element>
struct BiasTerms {
  static constexpr int kSums = 1;
  Inputs<Element> in;
  const Element* dy;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[1][kWidth]) const {
    const int64_t first = row * in.columns + column;
    const Elements<kWidth> at(in, first, column);
    float arrived[kWidth];
    simt::load(dy + first, arrived);
    for (int k = 0; k < kWidth; ++k) sums[0][k] += in.bias_factor * at.dlogit(k, arrived[k]);
  }
};

template <typename Element>
Inputs<Element> inputs_of(const ElementGateInputs& in) {
  return {.a = in.a.as<Element>(),
          .b = simt::data_of<Element>(in.b),
          .logits = simt::data_of<Element>(in.logits),
          .bias = simt::data_of<float>(in.bias),
          .bias_factor = in.bias_factor,
          .is_bounded = in.is_bounded,
          .columns = in.a.shape[1]};
}

template <typename Element>
Gradient<Element> gradient_of(const ElementGateGradient& gradient) {
  return {.to = simt::data_of<Element>(gradient.to), .accumulate = gradient.accumulate};
}

}  // namespace

void element_gate_forward(Queue& queue, const ElementGateForward& args) {
  const ElementGateInputs& in = args.in;
  const int64_t count = in.a.elements();
  simt::with_access(in.a.dtype, in.a.shape[1], {in.a, in.b, in.logits, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "element_gate_forward",
                 {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 element_gate_forward_kernel<Element, kWidth>,
                 Forward<Element>{.in = inputs_of<Element>(in), .y = args.y.as<Element>(), .count = count});
  });
}

void element_gate_backward(Queue& queue, const ElementGateBackward& args) {
  const ElementGateInputs& in = args.in;
  const int64_t count = in.a.elements(), columns = in.a.shape[1];
  simt::with_access(in.a.dtype, columns, {in.a, in.b, in.logits, args.dy, args.da.to, args.db.to, args.dlogits.to},
                    [&](auto access) {
                      using Element = typename decltype(access)::Element;
                      constexpr int kWidth = decltype(access)::kWidth;
                      const BiasTerms<Element> terms{.in = inputs_of<Element>(in), .dy = args.dy.as<Element>()};
                      if (!args.dbias.empty())
                        simt::add_column_sums<kWidth>(queue.cuda(), "element_gate_backward", terms, in.a.shape[0],
                                                      columns, {args.dbias.as<float>()});
                      simt::launch(queue.cuda(), "element_gate_backward",
                                   {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                                   element_gate_backward_kernel<Element, kWidth>,
                                   Backward<Element>{.in = terms.in,
                                                     .dy = terms.dy,
                                                     .da = gradient_of<Element>(args.da),
                                                     .db = gradient_of<Element>(args.db),
                                                     .dlogits = gradient_of<Element>(args.dlogits),
                                                     .count = count});
                    });
}

}  // namespace segue::kernels::cuda
