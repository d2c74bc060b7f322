// A thread to each token, one block where their gradients are summed for the bias; a warp to each row.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kSumThreads = 1024;

template <typename Element>
struct Inputs {
  const Element* logits;
  const float* bias;
  const float* totals;  // null: zeros
  float epsilon;
  bool is_last;
  int64_t rows;
};

// A token before a pass.
struct Token {
  float total, share, rest;  // t, p and 1 - p
  bool has_halted, halts;

  template <typename Element>
  __device__ __forceinline__ Token(const Inputs<Element>& in, int64_t row) {
    const float z = simt::as_float(in.logits[row]) + in.bias[0];
    total = in.totals == nullptr ? 0.0F : in.totals[row];
    share = sigmoid(z);
    rest = sigmoid(-z);
    has_halted = total >= 1.0F;
    halts = !has_halted && (in.is_last || total + share > 1.0F - in.epsilon);
  }
};

template <typename Element>
struct Forward {
  Inputs<Element> in;
  float* weights;
  float* new_totals;  // null: the pass is the last
  float* passes;
};

template <typename Element>
__global__ void __launch_bounds__(kThreads) halting_forward_kernel(Forward<Element> args) {
  const int64_t row = int64_t{simt::block()} * kThreads + simt::thread();
  if (row >= args.in.rows) return;
  const Token token(args.in, row);
  const bool is_over = token.has_halted || token.halts;
  args.weights[row] = token.has_halted ? 0.0F : token.halts ? 1.0F - token.total : token.share;
  if (args.new_totals != nullptr) args.new_totals[row] = is_over ? 1.0F : token.total + token.share;
  args.passes[row] = (args.in.totals == nullptr ? 0.0F : args.passes[row]) + (token.has_halted ? 0.0F : 1.0F);
}

template <typename Element>
struct Backward {
  Inputs<Element> in;
  const float* dweights;
  const float* dnew_totals;  // null: the pass is the last
  float ponder;
  Element* dlogits;
  float* dtotals;  // null: the pass is the first
  float* dbias;    // null: it is not learned
};

template <typename Element>
__global__ void __launch_bounds__(kSumThreads) halting_backward_kernel(Backward<Element> args) {
  float dbias = 0.0F;
  for (int64_t row = simt::thread(); row < args.in.rows; row += kSumThreads) {
    const Token token(args.in, row);
    const bool goes_on = !token.has_halted && !token.halts;
    const float dnew_total = args.dnew_totals == nullptr ? 0.0F : args.dnew_totals[row];
    const float dlogit = goes_on ? token.share * token.rest * (args.dweights[row] + dnew_total) : 0.0F;
    args.dlogits[row] = static_cast<Element>(dlogit);
    dbias += dlogit;
    if (args.dtotals != nullptr)
      args.dtotals[row] = goes_on ? dnew_total : token.halts ? -(args.dweights[row] + args.ponder) : 0.0F;
  }
  dbias = simt::reduce_block(dbias, 0.0F, simt::Sum());
  if (simt::thread() == 0 && args.dbias != nullptr) args.dbias[0] += dbias;
}

template <typename Element>
Inputs<Element> inputs_of(const HaltingInputs& in) {
  return {.logits = in.logits.as<Element>(),
          .bias = in.bias.as<float>(),
          .totals = simt::data_of<float>(in.totals),
          .epsilon = in.epsilon,
          .is_last = in.is_last,
          .rows = in.logits.shape[0]};
}

__device__ __forceinline__ bool has_halted(const float* totals, int64_t row) {
  return totals != nullptr && totals[row] >= 1.0F;
}

template <typename Element>
struct RowsForward {
  const Element* x;
  const Element* before;
  const float* totals;  // null: the pass is the first
  const float* weights;
  float* sum;
  Element* y;  // null: nobody wants it
  int64_t rows;
  int64_t columns;
};

template <typename Element>
__global__ void halted_rows_forward_kernel(RowsForward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row >= args.rows) return;
  const bool is_done = has_halted(args.totals, row);
  const float weight = args.weights[row];
  for (int64_t c = simt::lane(); c < args.columns; c += simt::kWarp) {
    const int64_t at = row * args.columns + c;
    if (!is_done) {
      const float added = weight * simt::as_float(args.x[at]);
      args.sum[at] = args.totals == nullptr ? added : args.sum[at] + added;
    }
    if (args.y != nullptr) args.y[at] = is_done ? args.before[at] : args.x[at];
  }
}

template <typename Element>
struct RowsBackward {
  const Element* x;
  const float* totals;  // null: the pass is the first
  const float* weights;
  const float* dsum;
  const Element* dy;  // null: there is none
  Element* dx;
  bool accumulate_dx;
  Element* dbefore;  // null: there is none
  bool accumulate_dbefore;
  float* dweights;
  int64_t rows;
  int64_t columns;
};

template <typename Element>
__device__ __forceinline__ void put(Element* to, bool accumulate, float value) {
  *to = static_cast<Element>(accumulate ? simt::as_float(*to) + value : value);
}

template <typename Element>
__global__ void halted_rows_backward_kernel(RowsBackward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row >= args.rows) return;
  const bool is_done = has_halted(args.totals, row);
  const float weight = args.weights[row];
  float products = 0.0F;
  for (int64_t c = simt::lane(); c < args.columns; c += simt::kWarp) {
    const int64_t at = row * args.columns + c;
    const float dy = args.dy == nullptr ? 0.0F : simt::as_float(args.dy[at]);
    put(args.dx + at, args.accumulate_dx, is_done ? 0.0F : dy + weight * args.dsum[at]);
    if (args.dbefore != nullptr) put(args.dbefore + at, args.accumulate_dbefore, is_done ? dy : 0.0F);
    if (!is_done) products += simt::as_float(args.x[at]) * args.dsum[at];
  }
  products = simt::reduce_warp(products, simt::Sum());
  if (simt::lane() == 0) args.dweights[row] = products;
}

}  // namespace

void halting_forward(Queue& queue, const HaltingForward& args) {
  simt::with_element(args.in.logits.dtype, [&](auto element) {
    using Element = decltype(element);
    const int64_t rows = args.in.logits.shape[0];
    simt::launch(queue.cuda(), "halting_forward", {.x = simt::divide_up(rows, kThreads), .threads = kThreads},
                 halting_forward_kernel<Element>,
                 Forward<Element>{.in = inputs_of<Element>(args.in),
                                  .weights = args.weights.as<float>(),
                                  .new_totals = simt::data_of<float>(args.new_totals),
                                  .passes = args.passes.as<float>()});
  });
}

void halting_backward(Queue& queue, const HaltingBackward& args) {
  simt::with_element(args.in.logits.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "halting_backward", {.x = 1, .threads = kSumThreads}, halting_backward_kernel<Element>,
                 Backward<Element>{.in = inputs_of<Element>(args.in),
                                   .dweights = args.dweights.as<float>(),
                                   .dnew_totals = simt::data_of<float>(args.dnew_totals),
                                   .ponder = args.ponder,
                                   .dlogits = args.dlogits.as<Element>(),
                                   .dtotals = simt::data_of<float>(args.dtotals),
                                   .dbias = simt::data_of<float>(args.dbias)});
  });
}

void halted_rows_forward(Queue& queue, const HaltedRowsForward& args) {
  simt::with_element(args.x.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "halted_rows_forward", simt::launch_of_warp_rows(args.x.shape[0]),
                 halted_rows_forward_kernel<Element>,
                 RowsForward<Element>{.x = args.x.as<Element>(),
                                      .before = simt::data_of<Element>(args.before),
                                      .totals = simt::data_of<float>(args.totals),
                                      .weights = args.weights.as<float>(),
                                      .sum = args.sum.as<float>(),
                                      .y = simt::data_of<Element>(args.y),
                                      .rows = args.x.shape[0],
                                      .columns = args.x.shape[1]});
  });
}

void halted_rows_backward(Queue& queue, const HaltedRowsBackward& args) {
  simt::with_element(args.x.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "halted_rows_backward", simt::launch_of_warp_rows(args.x.shape[0]),
                 halted_rows_backward_kernel<Element>,
                 RowsBackward<Element>{.x = args.x.as<Element>(),
                                       .totals = simt::data_of<float>(args.totals),
                                       .weights = args.weights.as<float>(),
                                       .dsum = args.dsum.as<float>(),
                                       .dy = simt::data_of<Element>(args.dy),
                                       .dx = args.dx.as<Element>(),
                                       .accumulate_dx = args.accumulate_dx,
                                       .dbefore = simt::data_of<Element>(args.dbefore),
                                       .accumulate_dbefore = args.accumulate_dbefore,
                                       .dweights = args.dweights.as<float>(),
                                       .rows = args.x.shape[0],
                                       .columns = args.x.shape[1]});
  });
}

}  // namespace segue::kernels::cuda
