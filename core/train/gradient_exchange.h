// Sums the gradients of all ranks, bucket after bucket from the end of the flat block, while backward still computes
// the rest (as in PyTorch DDP: Li et al. 2020, section 3.2).
#pragma once

#include <cstdint>
#include <memory>

#include "core/tape/tape.h"
#include "distributed/buckets.h"
#include "distributed/collectives.h"
#include "kernels/queue.h"

namespace segue {

// Seconds of a step: the mean since the last look; of the last step alone where a GPU measures.
struct ExchangeTimes {
  double exchanging = 0.0;  // that sums were under way
  double exposed = 0.0;     // of them, that nothing else was done meanwhile
};

class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  // For the last backward of a step: starts the sum of each bucket as soon as its gradients are complete.
  virtual Tape::GradientProgress progress() = 0;

  // After that backward: what is queued next finds all sums. Throws PeerError.
  virtual void finish() = 0;

  virtual ExchangeTimes take_times() = 0;

 protected:
  GradientExchange() = default;
};

// The gradients to be summed, and where the sums go.
struct ExchangePlan {
  TensorView gradients;  // flat, float32
  TensorView shard;      // this rank's parts of the sums; empty: every rank gets all sums, in the gradients' place
  Buckets buckets;
};

// Makes the exchange that suits the collectives and the queue, which both outlive it. On a GPU whose collectives queue
// their sums, they run beside backward on a CUDA stream of their own; on the CPU, on a thread of their own; on a GPU
// without such collectives, after backward.
std::unique_ptr<GradientExchange> make_gradient_exchange(const ExchangePlan& plan, Collectives& collectives,
                                                         kernels::Queue& queue);

}  // namespace segue
