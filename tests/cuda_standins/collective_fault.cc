#include "tests/cuda_standins/collective_fault.h"

#include <utility>

namespace segue {

namespace {

nccl::Fault next = nccl::Fault::kNone;

}  // namespace

void nccl::inject(Fault fault) { next = fault; }

nccl::Fault standin::take_collective_fault(nccl::Fault one, nccl::Fault other) {
  return next == one || next == other ? std::exchange(next, nccl::Fault::kNone) : nccl::Fault::kNone;
}

}  // namespace segue
