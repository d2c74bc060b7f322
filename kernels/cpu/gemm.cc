// oneDNN's sgemm behind a struct, with the cases it leaves to its caller.
#include "kernels/cpu/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "base/error.h"

namespace segue::kernels::cpu {

namespace {

// Waking a team and waiting for its slowest thread costs more than a thread alone needs for so many operations.
constexpr int64_t kFlopsWorthATeam = 2'000'000;

void clear(const Gemm& args) {
  for (int64_t row = 0; row < args.m; ++row) std::fill_n(args.c + row * args.c_stride, args.n, 0.0F);
}

}  // namespace

void gemm_in_thread(const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {
    if (!args.accumulate) clear(args);
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(args.transpose_a ? 'T' : 'N', args.transpose_b ? 'T' : 'N', args.m, args.n, args.k, 1.0F, args.a,
                 args.a_stride, args.b, args.b_stride, args.accumulate ? 1.0F : 0.0F, args.c, args.c_stride);
  if (status != dnnl_success) {
    throw DeviceError("oneDNN sgemm [{}, {}, {}]: status {}", args.m, args.n, args.k, static_cast<int>(status));
  }
}

void gemm(const Stream& stream, const Gemm& args) {
  // oneDNN takes the calling thread's number, which another stream may have set.
  const bool is_small = 2 * args.m * args.n * args.k < kFlopsWorthATeam;
  omp_set_num_threads(is_small ? 1 : stream.threads());
  gemm_in_thread(args);
  omp_set_num_threads(stream.threads());
}

}  // namespace segue::kernels::cpu
