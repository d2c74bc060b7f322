// The losses and gradient norms of steps, on the way from the device. Nothing waits for a step on a GPU; its report is
// read on demand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/cuda/queue.h"
#include "kernels/queue.h"

namespace segue {

struct StepReport {
  int64_t step = 0;
  double loss = 0.0;           // mean over the tokens, nats
  double gradient_norm = 0.0;  // before clipping
};

class StepReports {
 public:
  // For steps of at most `tokens` tokens each, at most `capacity` of them unread.
  StepReports(int64_t tokens, int64_t capacity, Device device);

  // Queues the losses of the next part of the step's tokens, float32.
  void add_losses(kernels::Queue& queue, ConstTensorView nll);
  // Ends the step: `outcome` [2] float64, its first element the norm.
  void end_step(kernels::Queue& queue, int64_t step, ConstTensorView outcome);
  bool is_full() const { return std::ssize(unread_) == capacity_; }

  // Waits, and returns the reports of all steps since the last call; valid until the next one.
  std::span<const StepReport> read(kernels::Queue& queue);

 private:
  int64_t tokens_;
  int64_t capacity_;
  OwnedTensor losses_;    // [capacity, tokens]
  OwnedTensor outcomes_;  // [capacity, 2]
  int64_t filled_ = 0;    // tokens of the step being queued
  struct Unread {
    int64_t step, tokens;
  };
  std::vector<Unread> unread_;
  // [capacity] on a GPU: steps are waited for one by one, so that a watch of the queue hears how long one step lasts
  // and not how many are queued.
  std::vector<cuda::Fence> ended_;
  std::vector<StepReport> reports_;
};

}  // namespace segue
