// c = aᵀ · b and c += aᵀ · b of floats for processors without AVX-512: the gradients of weights, sums over tokens.
//
// oneDNN 2 shares and copies these there in ways that cost many shapes half their speed: on two threads, 1024 x 256
// over 1024 tokens runs at 100 of 215 GFLOP/s, and here at 211. (BLIS 0.9: 178; OpenBLAS 0.3.21 is as fast, but sums
// each number of threads in another order.) An element's terms are added in one order, whatever the threads and
// extents.
//
// As Goto and van de Geijn (2008), doi:10.1145/1356052.1356053: blocks of a and b are copied into the order in which
// they are read; one of a stays in the second cache, a panel of b in the first, and a block of c in registers.
#pragma once

#include "kernels/cpu/gemm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// args: a transposed, b not, all float32, no bias, an inner extent of 1 or more. With all threads of the queue, or,
// inside a parallel region, with the calling one alone.
void transposed_product(const Queue& queue, const Gemm& args);
void transposed_product_in_thread(const Queue& queue, const Gemm& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
