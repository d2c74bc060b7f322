// The copy of blocks on a GPU; arguments as checked by kernels/copy_block.cc.
#pragma once

#include "kernels/copy_block.h"

namespace segue::kernels::cuda {

void copy_block(Stream& stream, const CopyBlock& args);

}  // namespace segue::kernels::cuda
