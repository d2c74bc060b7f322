// How NCCL's stand-in is to fail next, as tests/simt/nccl.h says it to the emulated one.
#pragma once

#include "tests/simt/nccl.h"

namespace segue::standin {

// The fault that was injected, when it is one of these; then no more.
nccl::Fault take_collective_fault(nccl::Fault one, nccl::Fault other = nccl::Fault::kNone);

}  // namespace segue::standin
