// Matrix products by cuBLASLt, which adds biases too; activation, dropout and the sums of bias gradients in one pass
// each between them.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/dropout_mask.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// x Phi(x); the complementary function keeps its digits far down the left tail.
__device__ __forceinline__ float normal_cumulative(float x) { return 0.5F * erfcf(-0.707106781F * x); }
__device__ __forceinline__ float gelu(float x) { return x * normal_cumulative(x); }
__device__ __forceinline__ float gelu_derivative(float x) {
  return fmaf(x, 0.398942280F * expf(-0.5F * x * x), normal_cumulative(x));
}
// NaN passes through the comparison, so that it reaches the loss.
__device__ __forceinline__ float relu(float x) { return x < 0.0F ? 0.0F : x; }

template <typename Element>
struct RoundArguments {
  const float* from;
  Element* to;
  int64_t count;
};

template <typename Element>
__global__ void round_bias_kernel(RoundArguments<Element> args) {
  const int64_t i = int64_t{simt::block()} * kThreads + simt::thread();
  if (i < args.count) args.to[i] = static_cast<Element>(args.from[i]);
}

// The bias as products want it: in the dtype of activations, in the queue's scratch where it is another.
template <typename Element>
ConstTensorView bias_for(Queue& queue, ConstTensorView bias) {
  if (bias.dtype == dtype_of<Element>()) return bias;
  const int64_t count = bias.elements();
  auto* rounded = static_cast<Element*>(queue.cuda().scratch(count * static_cast<int64_t>(sizeof(Element))));
  simt::launch(queue.cuda(), "round_bias", {.x = simt::divide_up(count, kThreads), .threads = kThreads},
               round_bias_kernel<Element>,
               RoundArguments<Element>{.from = bias.as<float>(), .to = rounded, .count = count});
  return view_of(static_cast<const Element*>(rounded), bias.shape);
}

template <typename Element>
struct ActivationArguments {
  const float* bias;
  simt::DropoutMask mask;
  Element* pre;     // GELU: x · W1ᵀ in, with the bias out; null for ReLU
  Element* hidden;  // out; ReLU: x · W1ᵀ in
  int64_t columns;
};

template <typename Element, int kWidth>
__global__ void activation_kernel(ActivationArguments<Element> args) {
  const int64_t first = simt::block() * args.columns;
  for (int64_t column = simt::thread() * kWidth; column < args.columns; column += kThreads * kWidth) {
    float z[kWidth];
    float bias[kWidth];
    float mask[kWidth];
    simt::load((args.pre == nullptr ? args.hidden : args.pre) + first + column, z);
    simt::load(args.bias + column, bias);
    args.mask.multipliers(first + column, mask);
    for (int k = 0; k < kWidth; ++k) z[k] += bias[k];
    if (args.pre != nullptr) simt::store(args.pre + first + column, z);
    for (int k = 0; k < kWidth; ++k) z[k] = (args.pre == nullptr ? relu(z[k]) : gelu(z[k])) * mask[k];
    simt::store(args.hidden + first + column, z);
  }
}

// Turns dhidden into dpre where it lies; its terms are the bias's gradient. With ReLU a unit that was dropped or
// inactive has hidden = 0.
template <typename Element>
struct ActivationGradientTerms {
  static constexpr int kSums = 1;
  Element* gradient;
  const Element* saved;  // pre for GELU, hidden for ReLU
  bool is_gelu;
  simt::DropoutMask mask;
  int64_t columns;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[1][kWidth]) const {
    const int64_t element = row * columns + column;
    float dpre[kWidth];
    float value[kWidth];
    float factor[kWidth];
    simt::load(gradient + element, dpre);
    simt::load(saved + element, value);
    if (is_gelu) {
      mask.multipliers(element, factor);
      for (int k = 0; k < kWidth; ++k) factor[k] *= gelu_derivative(value[k]);
    } else {
      for (int k = 0; k < kWidth; ++k) factor[k] = value[k] > 0.0F ? mask.scale : 0.0F;
    }
    for (int k = 0; k < kWidth; ++k) {
      dpre[k] *= factor[k];
      sums[0][k] += dpre[k];
    }
    simt::store(gradient + element, dpre);
  }
};

// From x to the hidden units. Without dropout the product's own epilogue does for ReLU.
template <typename Element>
void compute_hidden(Queue& queue, const FeedForwardForward& args) {
  const int64_t columns = args.hidden.shape[1];
  Element* pre = simt::data_of<Element>(args.pre);
  if (pre == nullptr && args.dropout.p == 0.0F) {
    const ConstTensorView bias = bias_for<Element>(queue, args.b1);
    gemm(queue, {.a = args.x, .b = args.w1, .transpose_b = true, .c = args.hidden, .bias = bias, .relu = true});
    return;
  }
  gemm(queue, {.a = args.x, .b = args.w1, .transpose_b = true, .c = pre == nullptr ? args.hidden : args.pre});
  const ActivationArguments<Element> arguments{.bias = args.b1.as<float>(),
                                               .mask = simt::mask_of(args.dropout),
                                               .pre = pre,
                                               .hidden = args.hidden.as<Element>(),
                                               .columns = columns};
  const bool vectorised = simt::is_vectorisable(args.hidden.dtype, columns, {args.b1, args.pre, args.hidden});
  simt::with_width<Element>(vectorised, [&](auto access) {
    simt::launch(queue.cuda(), "activation", {.x = args.hidden.shape[0], .threads = kThreads},
                 activation_kernel<Element, decltype(access)::kWidth>, arguments);
  });
}

template <typename Element>
void forward(Queue& queue, const FeedForwardForward& args) {
  compute_hidden<Element>(queue, args);
  gemm(queue,
       {.a = args.hidden, .b = args.w2, .transpose_b = true, .c = args.y, .bias = bias_for<Element>(queue, args.b2)});
}

void add_row_sums(Queue& queue, ConstTensorView matrix, TensorView sums) {
  const int64_t columns = matrix.shape[1];
  simt::with_access(matrix.dtype, columns, {matrix}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    simt::add_column_sums<decltype(access)::kWidth>(queue.cuda(), "bias_gradient",
                                                    simt::MatrixTerms<Element>{matrix.as<Element>(), columns},
                                                    matrix.shape[0], columns, {sums.as<float>()});
  });
}

void differentiate(Queue& queue, const FeedForwardBackward& args) {
  const int64_t columns = args.hidden.shape[1];
  const bool is_gelu = args.activation == Activation::kGelu;
  const ConstTensorView saved = is_gelu ? args.pre : args.hidden;
  const simt::DropoutMask mask = simt::mask_of(args.dropout);
  simt::with_access(saved.dtype, columns, {saved, args.workspace}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    const ActivationGradientTerms<Element> terms{.gradient = args.workspace.as<Element>(),
                                                 .saved = saved.as<Element>(),
                                                 .is_gelu = is_gelu,
                                                 .mask = mask,
                                                 .columns = columns};
    simt::add_column_sums<decltype(access)::kWidth>(queue.cuda(), "activation_gradient", terms, args.hidden.shape[0],
                                                    columns, {args.db1.as<float>()});
  });
}

}  // namespace

void feed_forward_forward(Queue& queue, const FeedForwardForward& args) {
  if (args.x.elements() == 0) return;
  simt::with_element(args.x.dtype, [&](auto element) { forward<decltype(element)>(queue, args); });
}

void feed_forward_backward(Queue& queue, const FeedForwardBackward& args) {
  if (args.x.elements() == 0) return;
  add_row_sums(queue, args.dy, args.db2);
  gemm(queue, {.a = args.dy, .transpose_a = true, .b = args.hidden, .c = args.dw2, .accumulate = true});
  gemm(queue, {.a = args.dy, .b = args.w2, .c = args.workspace});
  differentiate(queue, args);
  gemm(queue, {.a = args.workspace, .transpose_a = true, .b = args.x, .c = args.dw1, .accumulate = true});
  gemm(queue, {.a = args.workspace, .b = args.w1, .c = args.dx, .accumulate = args.accumulate_dx});
}

}  // namespace segue::kernels::cuda
