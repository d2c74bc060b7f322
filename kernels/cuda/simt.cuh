// The machine as kernels see it: their place in the grid, barriers, exchange within a warp, shared memory, asynchronous
// copies and matrix fragments. Here each is the hardware's instruction (sm_80 and later); the tests compile the same
// kernels against another header of this name, where the processor emulates them.
//
// A kernel is a `__global__ void name_kernel(Arguments arguments)` over one-dimensional blocks whose size is a multiple
// of 32; every warp operation is one of all 32 lanes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/queue.h"

namespace segue::simt {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

__device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int block_threads() { return static_cast<int>(blockDim.x); }
__device__ __forceinline__ int lane() { return thread() % kWarp; }
__device__ __forceinline__ int warp() { return thread() / kWarp; }
__device__ __forceinline__ int block() { return static_cast<int>(blockIdx.x); }
__device__ __forceinline__ int block_y() { return static_cast<int>(blockIdx.y); }
__device__ __forceinline__ int block_z() { return static_cast<int>(blockIdx.z); }
__device__ __forceinline__ int grid_size() { return static_cast<int>(gridDim.x); }

// Whether a block's four warps multiply together (wgmma), each tile read from shared memory once for all of them: on
// compute capability 9.0 alone, in code compiled for sm_90a.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kMultipliesInGroups = true;
#else
inline constexpr bool kMultipliesInGroups = false;
#endif

// Every thread of the block, or every lane of the warp, has come here, and sees what the others wrote before.
__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

// The value another lane hands in.
template <typename T>
__device__ __forceinline__ T shuffle(T value, int source_lane) {
  return __shfl_sync(kAllLanes, value, source_lane);
}
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(kAllLanes, value, mask);
}

__device__ __forceinline__ bool any(bool predicate) { return __any_sync(kAllLanes, predicate) != 0; }
__device__ __forceinline__ bool all(bool predicate) { return __all_sync(kAllLanes, predicate) != 0; }
__device__ __forceinline__ unsigned ballot(bool predicate) { return __ballot_sync(kAllLanes, predicate); }

// An object of the block, uninitialised; one for each pair of type and tag.
template <typename T, int kTag>
__device__ __forceinline__ T& static_shared() {
  __shared__ T object;
  return object;
}

// The block's dynamic shared memory, handed out piece by piece; every thread takes the same pieces in the same order.
class SharedMemory {
 public:
  __device__ __forceinline__ SharedMemory() {
    extern __shared__ __align__(kTileAlignment) unsigned char base[];
    base_ = base;
  }
  template <typename T>
  __host__ __device__ __forceinline__ T* take(int count, int64_t alignment = kSharedAlignment) {
    return reinterpret_cast<T*>(base_ + layout_.place<T>(count, alignment));
  }

 private:
  unsigned char* base_;
  SharedLayout layout_;
};

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Starts copying 16 bytes, both ends aligned to 16; zeros when not `valid`, and `global` is then not read.
__device__ __forceinline__ void async_copy_16(void* shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(valid ? 16 : 0)
               : "memory");
}
// Closes a group of the thread's copies; then waits until all but the newest kPending groups of the thread have landed.
__device__ __forceinline__ void async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned), and
// receives of each matrix the pair of elements 2 * (l % 4) of row l / 4; of its transpose in the second form.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void* shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(shared_row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_transposed(uint32_t (&r)[4], const void* shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(shared_row))
               : "memory");
}

// c [16, 8] += a [16, 16] · b [16, 8], bfloat16 with float32 accumulation; the fragments as PTX lays them out: with
// g = lane / 4 and t = 2 * (lane % 4), c holds (g, t), (g, t+1), (g+8, t), (g+8, t+1), a holds the pairs (g, t),
// (g+8, t), (g, t+8), (g+8, t+8), and b the pairs of rows (t, g), (t+8, g).
__device__ __forceinline__ void mma_bf16_16x8x16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// What this thread wrote to shared memory may be read by products of a group after the next barrier of the block: they
// read past the threads' own view of it.
__device__ __forceinline__ void publish_to_group() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}

// 64 columns of bfloat16 as an operand of group products: rows of 128 bytes from `rows` on, which lies at a multiple of
// 1024 bytes, their 16-byte chunks permuted by row % 8. Columns run along the product's sum, or, when it is kAcross,
// rows do.
enum class Columns : uint8_t { kAlongSum, kAcross };

template <Columns kColumns>
struct GroupOperand {
  uint64_t descriptor;

  __device__ __forceinline__ explicit GroupOperand(const void* rows)
      : descriptor(uint64_t{(shared_address(rows) & 0x3FFFFU) >> 4U} |
                   uint64_t{1} << 16U |           // nothing beside 64 columns
                   uint64_t{1024 >> 4U} << 32U |  // between groups of 8 rows
                   uint64_t{1} << 62U) {}         // permuted so
  // 16 further along the sum: 32 bytes, or 16 rows.
  __device__ __forceinline__ uint64_t step(int number) const {
    return descriptor + static_cast<uint64_t>(number) * (kColumns == Columns::kAlongSum ? 32 >> 4U : 16 * 128 >> 4U);
  }
};

#define SEGUE_SUMS_OF_GROUP(c)                                                                                 \
  "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),     \
      "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]), \
      "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), \
      "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), \
      "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
#define SEGUE_PRODUCT_OF_GROUP(a, b, scale)                                                                         \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " scale                                                                         \
  ", 0;\n"                                                                                                          \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, "                                                                                                           \
  "%25, %26, %27, %28, %29, %30, %31}, " a ", " b ", p, 1, 1, "

// Around the products of one sum: what is in registers may be read by them, and their sums by the warps.
__device__ __forceinline__ void begin_group_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}
__device__ __forceinline__ void end_group_products([[maybe_unused]] float (&c)[8][4]) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
               : SEGUE_SUMS_OF_GROUP(c)::"memory");
#endif
}

// c [64, 64] += a [64, 64] · b [64, 64], all four warps of the block together; of c each has 16 rows, laid out as in
// mma_bf16_16x8x16. In the second form a is in registers, a fragment of these for each step.
template <Columns kOfA, Columns kOfB>
__device__ __forceinline__ void multiply_in_group(float (&c)[8][4], const GroupOperand<kOfA>& a,
                                                  const GroupOperand<kOfB>& b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  begin_group_products();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    asm volatile(SEGUE_PRODUCT_OF_GROUP("%32", "%33", "%34") "%35, %36;\n}\n"
                 : SEGUE_SUMS_OF_GROUP(c)
                 : "l"(a.step(step)), "l"(b.step(step)), "r"(1), "n"(kOfA == Columns::kAcross ? 1 : 0),
                   "n"(kOfB == Columns::kAcross ? 1 : 0));
  }
  end_group_products(c);
#endif
}
template <Columns kOfB>
__device__ __forceinline__ void multiply_in_group(float (&c)[8][4], const uint32_t (&a)[4][4],
                                                  const GroupOperand<kOfB>& b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  begin_group_products();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    asm volatile(SEGUE_PRODUCT_OF_GROUP("{%32, %33, %34, %35}", "%36", "%37") "%38;\n}\n"
                 : SEGUE_SUMS_OF_GROUP(c)
                 : "r"(a[step][0]), "r"(a[step][1]), "r"(a[step][2]), "r"(a[step][3]), "l"(b.step(step)), "r"(1),
                   "n"(kOfB == Columns::kAcross ? 1 : 0));
  }
  end_group_products(c);
#endif
}
#undef SEGUE_SUMS_OF_GROUP
#undef SEGUE_PRODUCT_OF_GROUP

// Two floats rounded to bfloat16, the first in the low half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// 2^x to 2^-22 of its value; 0 for -infinity.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

// Runs the kernel in the queue's order. Throws DeviceError naming it when the device refuses the launch.
template <typename... Parameters, typename... Arguments>
void launch(cuda::Queue& queue, const char* name, const Launch& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  constexpr int64_t kGrantedSharedBytes = 48 * 1024;  // more must be asked for
  cudaError_t status = cudaSuccess;
  if (shape.shared_bytes > kGrantedSharedBytes) {
    status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  }
  if (status == cudaSuccess) {
    const dim3 grid(static_cast<unsigned>(shape.x), static_cast<unsigned>(shape.y), static_cast<unsigned>(shape.z));
    kernel<<<grid, static_cast<unsigned>(shape.threads), static_cast<size_t>(shape.shared_bytes),
             static_cast<cudaStream_t>(queue.stream())>>>(arguments...);
    status = cudaGetLastError();
  }
  if (status != cudaSuccess) {
    cudaGetLastError();  // the error is reported here, not by the launch that comes next
    throw DeviceError("{}: launch of {} x {} x {} blocks of {} threads with {} bytes of shared memory: {}", name,
                      shape.x, shape.y, shape.z, shape.threads, shape.shared_bytes, cudaGetErrorString(status));
  }
}

}  // namespace segue::simt
