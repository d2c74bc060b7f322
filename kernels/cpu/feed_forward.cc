// Matrix products by oneDNN; bias, activation, dropout and the sums of bias gradients in one pass each between them.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/multiply.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;

// hidden: x · W1ᵀ in, the hidden units out. NaN passes through the comparison, so that it reaches the loss.
template <typename A>
void relu_piece(const float* bias, const float* mask, int64_t size, A* hidden) {
#pragma omp simd
  for (int64_t c = 0; c < size; ++c) {
    const float pre = load(hidden + c) + bias[c];
    store(hidden + c, (pre < 0.0F ? 0.0F : pre) * mask[c]);
  }
}

template <typename A>
void gelu_piece(const float* bias, const float* mask, int64_t size, A* pre, A* hidden) {
#pragma omp simd
  for (int64_t c = 0; c < size; ++c) {
    store(pre + c, load(pre + c) + bias[c]);
    store(hidden + c, gelu(load(pre + c)) * mask[c]);
  }
}

// From x · W1ᵀ, which lies in `pre` for GELU and in `hidden` for ReLU, to the hidden units.
template <typename A>
void activate(const Queue& queue, const FeedForwardForward& args) {
  const int64_t rows = args.hidden.shape[0];
  const int64_t columns = args.hidden.shape[1];
  const float* bias = args.b1.as<float>();
  A* pre = args.activation == Activation::kGelu ? args.pre.as<A>() : nullptr;
  A* hidden = args.hidden.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.hidden.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    std::array<float, kPiece> mask;
    for (int64_t column = 0; column < columns; column += kPiece) {
      const int64_t size = std::min(kPiece, columns - column);
      const int64_t first = row * columns + column;
      dropout_multipliers(args.dropout, static_cast<uint64_t>(first), size, mask.data());
      if (pre == nullptr) {
        relu_piece(bias + column, mask.data(), size, hidden + first);
      } else {
        gelu_piece(bias + column, mask.data(), size, pre + first, hidden + first);
      }
    }
  }
}

template <typename A>
void add_column_sums(const Queue& queue, ConstTensorView x, float* sums) {
  const int64_t width = x.shape[1];
  const A* data = x.as<A>();
  for_each_column_tile(queue, x.shape[0], width, [=](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    TileColumns tile{};
    for (int64_t i = row; i < row + rows; ++i) add_to(tile.data(), data + i * width + column, columns);
    add_to(sums + column, tile.data(), columns);
  });
}

// gradient: dhidden in, dpre out; a unit that was dropped or inactive has hidden = 0.
template <typename A>
void relu_gradient_piece(const A* hidden, float kept, int64_t size, A* gradient, float* sums) {
#pragma omp simd
  for (int64_t c = 0; c < size; ++c) {
    const float dpre = load(hidden + c) > 0.0F ? load(gradient + c) * kept : 0.0F;
    store(gradient + c, dpre);
    sums[c] += dpre;
  }
}

template <typename A>
void gelu_gradient_piece(const A* pre, const float* mask, int64_t size, A* gradient, float* sums) {
#pragma omp simd
  for (int64_t c = 0; c < size; ++c) {
    const float dpre = load(gradient + c) * (mask[c] * gelu_derivative(load(pre + c)));
    store(gradient + c, dpre);
    sums[c] += dpre;
  }
}

// workspace: dhidden in, dpre out; db1 += its column sums.
template <typename A>
void differentiate(const Queue& queue, const FeedForwardBackward& args) {
  const int64_t width = args.hidden.shape[1];
  const float kept =
      args.dropout.p < 1.0F ? static_cast<float>(1.0 / (1.0 - static_cast<double>(args.dropout.p))) : 0.0F;
  const A* pre = args.activation == Activation::kGelu ? args.pre.as<A>() : nullptr;
  const A* hidden = args.hidden.as<A>();
  A* gradient = args.workspace.as<A>();
  float* db1 = args.db1.as<float>();
  const Dropout& dropout = args.dropout;
  const auto tile = [=](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    TileColumns sums{};
    TileColumns mask;
    for (int64_t i = row; i < row + rows; ++i) {
      const int64_t first = i * width + column;
      if (pre == nullptr) {
        relu_gradient_piece(hidden + first, kept, columns, gradient + first, sums.data());
      } else {
        dropout_multipliers(dropout, static_cast<uint64_t>(first), columns, mask.data());
        gelu_gradient_piece(pre + first, mask.data(), columns, gradient + first, sums.data());
      }
    }
    add_to(db1 + column, sums.data(), columns);
  };
  for_each_column_tile(queue, args.hidden.shape[0], width, tile);
}

}  // namespace

void feed_forward_forward(Queue& queue, const FeedForwardForward& args) {
  const TensorView product = args.activation == Activation::kGelu ? args.pre : args.hidden;
  multiply(queue, Matmul{.a = args.x, .b = args.w1, .transpose_b = true, .c = product});
  with_activations(args.x.dtype, [&]<typename A>() { activate<A>(queue, args); });
  multiply(queue, Matmul{.a = args.hidden, .b = args.w2, .transpose_b = true, .c = args.y}, args.b2.as<float>());
}

void feed_forward_backward(Queue& queue, const FeedForwardBackward& args) {
  with_activations(args.dy.dtype, [&]<typename A>() { add_column_sums<A>(queue, args.dy, args.db2.as<float>()); });
  multiply(queue, Matmul{.a = args.dy, .transpose_a = true, .b = args.hidden, .c = args.dw2, .accumulate = true});
  multiply(queue, Matmul{.a = args.dy, .b = args.w2, .c = args.workspace});
  with_activations(args.dy.dtype, [&]<typename A>() { differentiate<A>(queue, args); });
  multiply(queue, Matmul{.a = args.workspace, .transpose_a = true, .b = args.x, .c = args.dw1, .accumulate = true});
  multiply(queue, Matmul{.a = args.workspace, .b = args.w1, .c = args.dx, .accumulate = args.accumulate_dx});
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
