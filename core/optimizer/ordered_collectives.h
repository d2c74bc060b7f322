// Collectives in the order of a kernels::Stream.
#pragma once

#include <functional>

#include "distributed/collectives.h"
#include "kernels/cuda/queue.h"
#include "kernels/stream.h"

namespace segue {

// Runs collectives at the place that the stream has come to: they find what it was given before, and what it is given
// next finds their results. Both outlive it.
class OrderedCollectives {
 public:
  OrderedCollectives(Collectives& collectives, kernels::Stream& stream) : collectives_(collectives), stream_(stream) {}

  void run(const std::function<void(Collectives&)>& calls);

  // The halves, where the collectives have a stream: its queue waits for the stream's, and the other way round.
  void fork();
  void join();

 private:
  Collectives& collectives_;
  kernels::Stream& stream_;
  cuda::Fence forked_;
  cuda::Fence joined_;
};

}  // namespace segue
