// Products by cuBLASLt.
#include "kernels/cuda/gemm.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/queue_state.h"

namespace segue::kernels::cuda {

using segue::cuda::check;
using segue::cuda::GemmKey;
using segue::cuda::GemmPlan;

namespace {

// The largest power of two that divides the address, at most what cudaMalloc promises.
uint32_t alignment_of(const void* data) {
  constexpr int kMostBits = 8;
  return 1U << std::min(std::countr_zero(reinterpret_cast<uintptr_t>(data)), kMostBits);
}

// The stride of a stored matrix.
int64_t stride_of(ConstTensorView view, int64_t stride) { return stride == 0 ? view.shape[1] : stride; }

GemmKey key_of(const Gemm& args) {
  return {.m = args.c.shape[0],
          .n = args.c.shape[1],
          .k = args.a.shape[args.transpose_a ? 0 : 1],
          .transpose_a = args.transpose_a,
          .transpose_b = args.transpose_b,
          .operands = args.a.dtype,
          .result = args.c.dtype,
          .relu = args.relu,
          .a_stride = stride_of(args.a, args.a_stride),
          .b_stride = stride_of(args.b, args.b_stride),
          .c_stride = stride_of(args.c, args.c_stride),
          .a_alignment = alignment_of(args.a.data),
          .b_alignment = alignment_of(args.b.data),
          .c_alignment = alignment_of(args.c.data),
          .bias_alignment = args.bias.empty() ? 0 : alignment_of(args.bias.data)};
}

// Ready for these arguments. Nothing here asks the GPU for anything, so that a graph may be recorded meanwhile.
const GemmPlan& plan_for(segue::cuda::Queue::State& state, const GemmKey& key, const Gemm& args) {
  std::unique_ptr<GemmPlan>& plan = state.gemm_plans[key];
  if (!plan) {
    plan = std::make_unique<GemmPlan>(state.cublas, key, args.bias.data, state.gemm_workspace.bytes());
  } else if (key.has_bias()) {
    plan->set_bias(args.bias.data);
  }
  return *plan;
}

}  // namespace

void gemm(Queue& queue, const Gemm& args) {
  const GemmKey key = key_of(args);
  if (args.c.elements() == 0) return;
  if (key.k == 0) {
    if (!args.accumulate) queue.fill_zero(args.c);
    return;
  }
  segue::cuda::Queue::State& state = queue.cuda().state();
  const GemmPlan& plan = plan_for(state, key, args);
  const ProductRows c{args.c, key.c_stride};
  const bool bias_ahead = key.has_bias() && !plan.fuses_epilogue;
  if (bias_ahead) spread_bias(queue, c, args.bias);
  const float one = 1.0F;
  const float beta = args.accumulate || bias_ahead ? 1.0F : 0.0F;
  check(cublasLtMatmul(state.cublas, plan.operation, &one, args.b.data, plan.a, args.a.data, plan.b, &beta, args.c.data,
                       plan.c, args.c.data, plan.c, &plan.algorithm, state.gemm_workspace.data(),
                       static_cast<size_t>(state.gemm_workspace.bytes()), stream_of(queue.cuda())),
        "cublasLtMatmul");
  if (key.relu && !plan.fuses_epilogue) relu(queue, c);
}

}  // namespace segue::kernels::cuda
