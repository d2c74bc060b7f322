// The tensor core's operations on the fragments of a warp, as kernels/cuda/simt.cuh describes them.
#pragma once

#include <cstdint>

namespace segue::simt::emulation {

enum class Transposed : bool { kNo, kYes };

// Each lane of the warp hands in its part; ends the process when an address is not aligned to 16 bytes.
void load_matrices(uint32_t (&r)[4], const void* shared_row, Transposed transposed);
void multiply_matrices(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

}  // namespace segue::simt::emulation
