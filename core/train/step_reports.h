// Brings the losses and gradient norms of steps back from the device. Nothing waits for a step on a GPU; its report is
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
  double nll = 0.0;             // sum over the tokens, nats
  int64_t hits = 0;             // scored tokens that were the most likely ones
  int64_t scored = 0;           // tokens, as end_step was told
  int64_t bytes = 0;            // likewise
  double gradient_norm = 0.0;   // before clipping
  double reconstruction = 0.0;  // of a memory that compresses: the sum over streams of its loss, 0 where nothing was
  double passes = 0.0;          // of tokens that halt, the sum
  int64_t halting_tokens = 0;   // and how many these are
  double loss() const { return nll / static_cast<double>(scored); }
};

class StepReports {
 public:
  // For steps of at most `tokens` tokens each, at most `capacity` of them unread. Hits and passes are counted where
  // asked for; `streams` may each have a loss of reconstruction.
  struct Extents {
    int64_t tokens;
    int64_t capacity;
    bool counts_hits = false;
    bool counts_passes = false;
    int64_t streams = 0;
  };
  StepReports(const Extents& extents, Device device);

  // Queues the losses of the next part of the step's tokens, float32, and the margins that tell hits, if there are any.
  void add_losses(kernels::Queue& queue, ConstTensorView nll, ConstTensorView margin = {});
  // And those of reconstruction of its streams, float32.
  void add_reconstruction(kernels::Queue& queue, ConstTensorView losses);
  // And the passes of its tokens, float32.
  void add_passes(kernels::Queue& queue, ConstTensorView passes);
  // Ends the step, in which `scored` tokens had a loss, which stand for `bytes` bytes of text: `outcome` [2] float64,
  // its first element the norm.
  void end_step(kernels::Queue& queue, int64_t step, int64_t scored, int64_t bytes, ConstTensorView outcome);
  // Ends a step that changed nothing, of which there is nothing to report.
  void drop_step();
  bool is_full() const { return std::ssize(unread_) == capacity_; }

  // Waits, and returns the reports of all steps since the last call; valid until the next one.
  std::span<const StepReport> read(kernels::Queue& queue);

 private:
  // A row of floats for each step.
  struct Column {
    OwnedTensor rows;    // [capacity, width], or nothing
    int64_t filled = 0;  // of the step being queued

    Column(int64_t capacity, int64_t width, Device device)
        : rows(DType::kFloat32, {width > 0 ? capacity : 0, width}, device, BufferKind::kPinned) {}
    void add(kernels::Queue& queue, int64_t row, ConstTensorView values);
    std::span<const float> row(int64_t number, int64_t count) const;
  };
  void add(Column& column, kernels::Queue& queue, ConstTensorView values);

  int64_t capacity_;
  Column losses_, margins_, reconstructions_, passes_;
  OwnedTensor outcomes_;  // [capacity, 2]
  struct Unread {
    int64_t step, scored, bytes;
    int64_t losses, margins, reconstructions, passes;  // numbers in the rows of these
  };
  std::vector<Unread> unread_;
  // [capacity] on a GPU: steps are waited for one by one, so that a watch of the queue hears how long one step lasts
  // and not how many are queued.
  std::vector<cuda::Fence> ended_;
  std::vector<StepReport> reports_;
};

}  // namespace segue
