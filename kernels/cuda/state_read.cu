// Products of a head's state, on the tensor cores, with the queries of 64 tokens, and backward with what their outputs
// receive: a warp has 16 of the result's columns, transposed, for which it reads the state from memory once. The
// state's gradient is one sum over all tokens, 16 of its rows to a warp.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/state_chunk.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kRows = kWarps * 16;  // of a block: columns of the result, or rows of the gradient
constexpr int kTokens = 64;         // at a time
constexpr int kColumns = 64;        // the same

template <typename Element>
using Rows = Tile<Element, kColumns>;

// What a call reads, as a scan that writes nothing: v are `values`.
template <typename Element>
StateInputs<Element> read_inputs(ConstTensorView q, ConstTensorView values) {
  return inputs_of<Element>({.q = q, .k = q, .v = values, .log_decay = {}, .beta = {}, .initial = {}}, {q}, {values});
}

// kTokens tokens from `first` on and kColumns columns from `column` on of rows of this format; zeros where there are
// none. Nobody may read what is there before; all may read after async_wait and a barrier.
template <typename Element>
__device__ __forceinline__ void load_tokens(const StateInputs<Element>& in, const Rows<Element>& tile,
                                            const Element* from, const RowFormat& format, int first, int column) {
  load_rows(tile, 0, kTokens, {.width = format.width - column, .vectorised = format.vectorised}, [&](int t) {
    return first + t < in.tokens ? from + in.place(first + t) * format.width + column : nullptr;
  });
}

template <typename Element>
struct ProductArguments {
  StateInputs<Element> in;
  const float* state;
  const Element* from;  // of tokens: queries, or what outputs receive
  Element* to;          // outputs, or what queries receive
};

// The transposed result [16, kTokens] for columns of the result from `row` on: rows of S' forward, of S backward.
template <bool kForward, typename Element>
__device__ __forceinline__ FragmentA<Element> state_operand(const StateInputs<Element>& in, const float* state, int row,
                                                            int along) {
  if constexpr (kForward) {
    return transposed_state(in, state, along, row);
  } else {
    const Accumulators<16> block = state_block(in, state, row, along);
    FragmentA<Element> operand;
    as_operand(operand, block.value[0], block.value[1]);
    return operand;
  }
}

template <typename Element, bool kForward>
__global__ void __launch_bounds__(kWarps* simt::kWarp) state_product_kernel(ProductArguments<Element> args) {
  const StateInputs<Element>& in = args.in;
  const RowFormat keys{.width = in.keys, .vectorised = in.keys_vectorised};
  const RowFormat values{.width = in.values, .vectorised = in.values_vectorised};
  const RowFormat format = kForward ? keys : values;
  const int width = kForward ? in.values : in.keys;  // of the result
  simt::SharedMemory memory;
  const Rows<Element> rows(memory, kTokens);
  const int blocks = (width + kRows - 1) / kRows;
  const int row = simt::block() % blocks * kRows + simt::warp() * 16;
  const int first = simt::block() / blocks * kTokens;
  const float* state = args.state + in.state();
  Accumulators<kTokens> sums;
  for (int column = 0; column < format.width; column += kColumns) {
    load_tokens(in, rows, args.from, format, first, column);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
#pragma unroll 2
    for (int k = 0; k < kColumns && column + k < format.width && row < width; k += 16)
      multiply_transpose(sums, state_operand<kForward>(in, state, row, column + k), rows, 0, k);
    simt::sync_block();  // before the next columns take their place
  }
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kTokens / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int t = first + lane.column(block, i);
      const int of = row + lane.row(i);
      if (t < in.tokens && of < width) args.to[in.place(t) * width + of] = static_cast<Element>(sums.value[block][i]);
    }
  }
}

template <typename Element>
struct GradientArguments {
  StateInputs<Element> in;  // v: what outputs receive
  float* dstate;
  bool accumulate;
};

template <typename Element>
struct GradientTiles {
  Rows<Element> queries, doutput;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit GradientTiles(Memory& memory)
      : queries(memory, kTokens), doutput(memory, kTokens) {}
};

template <typename Element>
__global__ void __launch_bounds__(kWarps* simt::kWarp) state_gradient_kernel(GradientArguments<Element> args) {
  const StateInputs<Element>& in = args.in;
  simt::SharedMemory memory;
  const GradientTiles<Element> tiles(memory);
  const int blocks = (in.values + kColumns - 1) / kColumns;
  const int key = simt::block() / blocks * kRows;
  const int column = simt::block() % blocks * kColumns;
  const int place = simt::warp() * 16;  // of the warp's rows among the block's
  Accumulators<kColumns> sums;
  for (int first = 0; first < in.tokens; first += kTokens) {
    load_tokens(in, tiles.queries, in.q, {.width = in.keys, .vectorised = in.keys_vectorised}, first, key);
    load_tokens(in, tiles.doutput, in.v, {.width = in.values, .vectorised = in.values_vectorised}, first, column);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
#pragma unroll 2
    for (int t = 0; t < kTokens && first + t < in.tokens && key + place < in.keys; t += 16) {
      FragmentA<Element> operand;
      load_a_transposed(operand, tiles.queries, place, t);
      multiply_16_rows(sums, operand, tiles.doutput, t);
    }
    simt::sync_block();  // before the next tokens take their place
  }
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int row = key + place + lane.row(i);
      const int of = column + lane.column(block, i);
      if (row >= in.keys || of >= in.values) continue;
      float* to = args.dstate + in.state() + static_cast<int64_t>(row) * in.values + of;
      *to = args.accumulate ? *to + sums.value[block][i] : sums.value[block][i];
    }
  }
}

simt::Launch launch_of(const Shape& q, int64_t blocks, int64_t shared_bytes) {
  return {.x = blocks,
          .y = static_cast<int>(q[2]),
          .z = static_cast<int>(q[0]),
          .threads = kWarps * simt::kWarp,
          .shared_bytes = shared_bytes};
}

template <bool kForward, typename Element>
void multiply(Queue& queue, const char* name, const ConstTensorView& q, const ProductArguments<Element>& args) {
  const int64_t width = kForward ? args.in.values : args.in.keys;
  const int64_t blocks = simt::divide_up(width, kRows) * simt::divide_up(args.in.tokens, kTokens);
  simt::SharedLayout layout;
  const Rows<Element> rows(layout, kTokens);
  simt::launch(queue.cuda(), name, launch_of(q.shape, blocks, layout.bytes()), state_product_kernel<Element, kForward>,
               args);
}

}  // namespace

void state_read_forward(Queue& queue, const StateReadForward& args) {
  simt::with_element(args.q.dtype, [&](auto element) {
    using Element = decltype(element);
    multiply<true, Element>(queue, "state_read_forward", args.q,
                            {.in = read_inputs<Element>(args.q, args.output),
                             .state = args.state.as<float>(),
                             .from = args.q.as<Element>(),
                             .to = args.output.as<Element>()});
  });
}

void state_read_backward(Queue& queue, const StateReadBackward& args) {
  simt::with_element(args.q.dtype, [&](auto element) {
    using Element = decltype(element);
    const StateInputs<Element> in = read_inputs<Element>(args.q, args.doutput);
    if (!args.dq.empty())
      multiply<false, Element>(
          queue, "state_read_backward", args.q,
          {.in = in, .state = args.state.as<float>(), .from = args.doutput.as<Element>(), .to = args.dq.as<Element>()});
    if (args.dstate.empty()) return;
    const int64_t blocks = simt::divide_up(in.keys, kRows) * simt::divide_up(in.values, kColumns);
    simt::launch(
        queue.cuda(), "state_read_backward",
        launch_of(args.q.shape, blocks, simt::shared_bytes_of<GradientTiles<Element>>()),
        state_gradient_kernel<Element>,
        GradientArguments<Element>{.in = in, .dstate = args.dstate.as<float>(), .accumulate = args.accumulate});
  });
}

}  // namespace segue::kernels::cuda
