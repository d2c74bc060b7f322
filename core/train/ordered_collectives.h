// Collectives in the order of a kernels::Stream.
#pragma once

#include <functional>

#include "distributed/communicator.h"
#include "kernels/cuda/queue.h"
#include "kernels/stream.h"

namespace segue {

// Runs collectives at the place that the stream has come to: they find what it was given before, and what it is given
// next finds their results. Both outlive it.
class OrderedCollectives {
 public:
  OrderedCollectives(Communicator& communicator, kernels::Stream& stream)
      : communicator_(communicator), stream_(stream) {}

  void run(const std::function<void(Communicator&)>& collectives);

  // The halves, where the communicator has a stream: its queue waits for the stream's, and the other way round.
  void fork();
  void join();

 private:
  Communicator& communicator_;
  kernels::Stream& stream_;
  cuda::Fence forked_;
  cuda::Fence joined_;
};

}  // namespace segue
