// Chunk after chunk: a warp holds 16 columns of a head's state in registers, transposed, which is how products want it
// both as an operand and as a sum.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/state_chunk.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kColumns = kWarps * 16;

template <typename Element>
struct ScanForwardArguments {
  StateInputs<Element> in;
  const float* initial;
  Element* output;
  float* final;
  float* kept;
};

template <typename Element, int kKeys>
__device__ __forceinline__ void load_state(const StateInputs<Element>& in, const float* from, int column,
                                           Accumulators<kKeys>& state) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kKeys / 8; ++block) {
    for (int i = 0; i < 4; ++i) state.value[block][i] = state_at(in, from, lane.column(block, i), column + lane.row(i));
  }
}

template <typename Element, int kKeys>
__device__ __forceinline__ void store_state(const StateInputs<Element>& in, const Accumulators<kKeys>& state,
                                            int column, float* to) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kKeys / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int key = lane.column(block, i);
      const int of = column + lane.row(i);
      if (key < in.keys && of < in.values) to[static_cast<int64_t>(key) * in.values + of] = state.value[block][i];
    }
  }
}

template <typename Element, int kKeys>
__global__ void __launch_bounds__(kWarps* simt::kWarp) state_scan_forward_kernel(ScanForwardArguments<Element> args) {
  const StateInputs<Element>& in = args.in;
  simt::SharedMemory memory;
  const ChunkTiles<Element, kKeys> chunk(memory);
  const LaneOfAccumulators lane;
  const int column = simt::block() * kColumns + simt::warp() * 16;
  Accumulators<kKeys> state;
  load_state(in, args.initial == nullptr ? nullptr : args.initial + in.state(), column, state);
  for (int number = 0; number < in.chunks(); ++number) {
    const int first = number * kChunk;
    if (args.kept != nullptr) store_state(in, state, column, args.kept + in.kept(number));
    Accumulators<kChunk> news = load_values(in, first, column);  // on their way while comparisons are made
    chunk.load(in, first);
    Accumulators<kChunk> output, found;
#pragma unroll
    for (int k = 0; k < kKeys; k += 16) {
      FragmentA<Element> operand;
      as_operand(operand, state.value[k / 8], state.value[k / 8 + 1]);
      multiply_transpose(output, operand, chunk.queries, 0, k);
      if (in.erases) multiply_transpose(found, operand, chunk.decayed_keys, 0, k);
    }
#pragma unroll
    for (int block = 0; block < kChunk / 8; ++block) {
      for (int i = 0; i < 4; ++i) news.value[block][i] -= found.value[block][i];
    }
    const Accumulators<kChunk> written = written_of(chunk, in.erases, news);
    FragmentA<Element> operand;
    as_operand(operand, written.value[0], written.value[1]);
    multiply_transpose(output, operand, chunk.scores, 0, 0);
    store_values(in, output, first, column, args.output);
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block) {
      for (int i = 0; i < 4; ++i) state.value[block][i] *= chunk.carry[lane.column(block, i)];
    }
    multiply_16_rows(state, operand, chunk.keys, 0);
    simt::sync_block();  // before the next chunk takes its place
  }
  store_state(in, state, column, args.final + in.state());
}

}  // namespace

void state_scan_forward(Queue& queue, const StateScanForward& args) {
  simt::with_element(args.inputs.q.dtype, [&](auto element) {
    using Element = decltype(element);
    const ScanForwardArguments<Element> arguments{
        .in = inputs_of<Element>(args.inputs, {args.inputs.q, args.inputs.k}, {}),
        .initial = simt::data_of<float>(args.inputs.initial),
        .output = args.output.as<Element>(),
        .final = args.final.as<float>(),
        .kept = simt::data_of<float>(args.kept)};
    const auto streams = static_cast<int>(args.inputs.q.shape[0]);
    with_keys(arguments.in.keys, [&](auto keys) {
      constexpr int kKeys = decltype(keys)::value;
      simt::launch(queue.cuda(), "state_scan_forward",
                   {.x = simt::divide_up(arguments.in.values, kColumns),
                    .y = arguments.in.heads,
                    .z = streams,
                    .threads = kWarps * simt::kWarp,
                    .shared_bytes = simt::shared_bytes_of<ChunkTiles<Element, kKeys>>()},
                   state_scan_forward_kernel<Element, kKeys>, arguments);
    });
  });
}

}  // namespace segue::kernels::cuda
