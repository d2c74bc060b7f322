// The memory update: what the arguments must be.
#include "kernels/segment_memory.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void segment_memory_update(Queue& queue, const SegmentMemoryUpdate& args) {
  const Contract contract("segment_memory_update");
  const DType a = contract.activation("hidden", args.hidden, 3);
  contract.activation("memory", args.memory, 3);
  contract.activation("updated", args.updated, 3);
  const int64_t streams = args.hidden.shape[0];
  const int64_t features = args.hidden.shape[2];
  contract.tensor("memory", args.memory, a, {streams, args.memory.shape[1], features});
  contract.tensor("updated", args.updated, a, {streams, args.updated.shape[1], features});
  const int64_t available = args.memory.shape[1] + args.hidden.shape[1];
  contract.number("updated rows", static_cast<double>(args.updated.shape[1]), args.updated.shape[1] <= available,
                  "at most the rows of memory and hidden");
  contract.disjoint("updated", args.updated, "hidden", args.hidden);
  if (args.updated.data != args.memory.data) contract.disjoint("updated", args.updated, "memory", args.memory);
  queue.operations().segment_memory_update(queue, args);
}

}  // namespace segue::kernels
