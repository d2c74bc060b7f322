// The copy of blocks on the CPU; arguments as checked by kernels/copy_block.cc.
#pragma once

#include "kernels/copy_block.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void copy_block(const Stream& stream, const CopyBlock& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
