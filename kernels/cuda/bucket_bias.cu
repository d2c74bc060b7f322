// A thread to each bias of the forward. Backward: a warp to each element of the table, which finds its distances among
// all: these are thousands at most.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kForwardThreads = 128;

struct ForwardArguments {
  const int32_t* buckets;
  const float* table;
  float* bias;
  int64_t heads;
  int64_t distances;
};

__global__ void bucket_bias_forward_kernel(ForwardArguments args) {
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= args.heads * args.distances) return;
  const int64_t n = element / args.distances;
  args.bias[element] = args.table[args.buckets[element % args.distances] * args.heads + n];
}

struct BackwardArguments {
  const int32_t* buckets;
  const float* dbias;
  float* dtable;
  int64_t rows;
  int64_t heads;
  int64_t distances;
};

__global__ void bucket_bias_backward_kernel(BackwardArguments args) {
  const int64_t element = simt::my_row<true>();
  if (element >= args.rows * args.heads) return;  // the whole warp
  const float* dbias = args.dbias + element % args.heads * args.distances;
  float sum = 0.0F;
  for (int64_t e = simt::lane(); e < args.distances; e += simt::kWarp) {
    if (args.buckets[e] == element / args.heads) sum += dbias[e];
  }
  sum = simt::reduce_warp(sum, simt::Sum());
  if (simt::lane() == 0) args.dtable[element] += sum;
}

}  // namespace

void bucket_bias_forward(Queue& queue, const BucketBiasForward& args) {
  const int64_t elements = args.bias.elements();
  if (elements == 0) return;
  simt::launch(queue.cuda(), "bucket_bias_forward",
               {.x = simt::divide_up(elements, kForwardThreads), .threads = kForwardThreads},
               bucket_bias_forward_kernel,
               ForwardArguments{.buckets = args.buckets.as<int32_t>(),
                                .table = args.table.as<float>(),
                                .bias = args.bias.as<float>(),
                                .heads = args.bias.shape[0],
                                .distances = args.bias.shape[1]});
}

void bucket_bias_backward(Queue& queue, const BucketBiasBackward& args) {
  if (args.dbias.elements() == 0) return;
  simt::launch(queue.cuda(), "bucket_bias_backward", simt::launch_of_warp_rows(args.dtable.elements()),
               bucket_bias_backward_kernel,
               BackwardArguments{.buckets = args.buckets.as<int32_t>(),
                                 .dbias = args.dbias.as<float>(),
                                 .dtable = args.dtable.as<float>(),
                                 .rows = args.dtable.shape[0],
                                 .heads = args.dtable.shape[1],
                                 .distances = args.dbias.shape[1]});
}

}  // namespace segue::kernels::cuda
