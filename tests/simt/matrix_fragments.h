// The tensor core's operations on the fragments of a warp, as kernels/cuda/simt.cuh describes them.
//
// A product's sums are rounded as IEEE 754 says, or with SEGUE_SIMT_SUMS=truncated in the environment as hardware may
// do it at worst: of eight products and the sum before, all exact, the bits below the 24th of the largest are cut off
// before they are added, and those below the 24th of the result after.
#pragma once

#include <cstdint>

#include "tests/simt/emulator.h"

namespace segue::simt::emulation {

enum class Transposed : bool { kNo, kYes };

// A lane's part of a matrix, by value: what it lies in then needs no address, so that the compiler reports no access to
// it.
template <typename T, int kElements>
struct Fragment {
  T part[kElements];
};

// Each of the warp's lanes hands in its part; ends the process when a row is not in shared memory or not aligned to 16
// bytes.
Fragment<uint32_t, 4> load_matrices(const void* shared_row, Transposed transposed, const CallSite& site);
Fragment<float, 4> multiply_matrices(Fragment<float, 4> c, Fragment<uint32_t, 4> a, Fragment<uint32_t, 2> b,
                                     const CallSite& site);

}  // namespace segue::simt::emulation
