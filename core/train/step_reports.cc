// Pinned rows that the device fills, one for each step.
#include "core/train/step_reports.h"

#include <algorithm>
#include <numeric>

namespace segue {

StepReports::StepReports(int64_t tokens, int64_t capacity, Device device)
    : tokens_(tokens),
      capacity_(capacity),
      losses_(DType::kFloat32, {capacity, tokens}, device, BufferKind::kPinned),
      outcomes_(DType::kFloat64, {capacity, 2}, device, BufferKind::kPinned),
      ended_(device.is_cuda() ? static_cast<size_t>(capacity) : 0) {
  unread_.reserve(static_cast<size_t>(capacity));
  reports_.reserve(static_cast<size_t>(capacity));
}

void StepReports::add_losses(kernels::Queue& queue, ConstTensorView nll) {
  const TensorView row = losses_.view().rows(std::ssize(unread_), 1).reshaped({tokens_});
  queue.copy(row.rows(filled_, nll.elements()), nll);
  filled_ += nll.elements();
}

void StepReports::end_step(kernels::Queue& queue, int64_t step, ConstTensorView outcome) {
  queue.copy(outcomes_.view().rows(std::ssize(unread_), 1), outcome);
  if (!ended_.empty()) ended_[unread_.size()].set(queue.cuda().stream());
  unread_.push_back({.step = step, .tokens = filled_});
  filled_ = 0;
}

std::span<const StepReport> StepReports::read(kernels::Queue& queue) {
  const size_t ended = std::min(ended_.size(), unread_.size());
  for (size_t i = 0; i < ended; ++i) queue.cuda().wait_for(ended_[i]);
  queue.synchronize();
  reports_.clear();
  for (int64_t i = 0; i < std::ssize(unread_); ++i) {
    const auto [step, tokens] = unread_[static_cast<size_t>(i)];
    const float* nll = losses_.as<float>() + i * tokens_;
    reports_.push_back({.step = step,
                        .loss = std::accumulate(nll, nll + tokens, 0.0) / static_cast<double>(tokens),
                        .gradient_norm = outcomes_.as<double>()[2 * i]});
  }
  unread_.clear();
  return reports_;
}

}  // namespace segue
