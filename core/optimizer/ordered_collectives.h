// Runs collectives in order with the operations of a queue.
#pragma once

#include <functional>

#include "distributed/collectives.h"
#include "kernels/cuda/queue.h"
#include "kernels/queue.h"

namespace segue {

// Runs collectives at the point that the queue has come to: they find what it was given before, and what it is given
// next finds their results. Both outlive it.
class OrderedCollectives {
 public:
  OrderedCollectives(Collectives& collectives, kernels::Queue& queue) : collectives_(collectives), queue_(queue) {}

  void run(const std::function<void(Collectives&)>& calls);

  // The halves, where the collectives have a CUDA stream: it waits for the queue, and the other way round.
  void fork();
  void join();

 private:
  Collectives& collectives_;
  kernels::Queue& queue_;
  cuda::Fence forked_;
  cuda::Fence joined_;
};

}  // namespace segue
