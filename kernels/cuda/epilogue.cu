// A block for every row, one element at a time: what comes here has odd extents.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/epilogue.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct RowArguments {
  Element* rows;
  const Element* bias;  // [columns]; null for ReLU
  int64_t columns;
  int64_t stride;
};

template <typename Element>
__global__ void spread_bias_kernel(RowArguments<Element> args) {
  Element* row = args.rows + simt::block() * args.stride;
  for (int64_t column = simt::thread(); column < args.columns; column += kThreads) row[column] = args.bias[column];
}

// NaN passes through the comparison, so that it reaches the loss.
template <typename Element>
__global__ void relu_kernel(RowArguments<Element> args) {
  Element* row = args.rows + simt::block() * args.stride;
  for (int64_t column = simt::thread(); column < args.columns; column += kThreads) {
    if (simt::as_float(row[column]) < 0.0F) row[column] = static_cast<Element>(0.0F);
  }
}

template <typename Element>
void launch(Queue& queue, const char* name, void (*kernel)(RowArguments<Element>), const ProductRows& rows,
            ConstTensorView bias) {
  simt::launch(queue.cuda(), name, {.x = rows.elements.shape[0], .threads = kThreads}, kernel,
               RowArguments<Element>{.rows = rows.elements.as<Element>(),
                                     .bias = simt::data_of<Element>(bias),
                                     .columns = rows.elements.shape[1],
                                     .stride = rows.stride});
}

}  // namespace

void spread_bias(Queue& queue, const ProductRows& rows, ConstTensorView bias) {
  simt::with_element(rows.elements.dtype, [&](auto element) {
    using Element = decltype(element);
    launch<Element>(queue, "spread_bias", spread_bias_kernel<Element>, rows, bias);
  });
}

void relu(Queue& queue, const ProductRows& rows) {
  simt::with_element(rows.elements.dtype, [&](auto element) {
    using Element = decltype(element);
    launch<Element>(queue, "relu", relu_kernel<Element>, rows, {});
  });
}

}  // namespace segue::kernels::cuda
