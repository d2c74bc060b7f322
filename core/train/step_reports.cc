// Pinned rows that the device fills, one for each step.
#include "core/train/step_reports.h"

#include <algorithm>
#include <numeric>

namespace segue {

StepReports::StepReports(int64_t tokens, int64_t capacity, Device device, bool counts_hits, int64_t streams)
    : tokens_(tokens),
      capacity_(capacity),
      losses_(DType::kFloat32, {capacity, tokens}, device, BufferKind::kPinned),
      margins_(DType::kFloat32, {counts_hits ? capacity : 0, tokens}, device, BufferKind::kPinned),
      reconstructions_(DType::kFloat32, {capacity, streams}, device, BufferKind::kPinned),
      outcomes_(DType::kFloat64, {capacity, 2}, device, BufferKind::kPinned),
      ended_(device.is_cuda() ? static_cast<size_t>(capacity) : 0) {
  unread_.reserve(static_cast<size_t>(capacity));
  reports_.reserve(static_cast<size_t>(capacity));
}

void StepReports::add_losses(kernels::Queue& queue, ConstTensorView nll, ConstTensorView margin) {
  const auto keep = [&](OwnedTensor& rows, ConstTensorView values) {
    const TensorView row = rows.view().rows(std::ssize(unread_), 1).reshaped({tokens_});
    queue.copy(row.rows(filled_, values.elements()), values);
  };
  keep(losses_, nll);
  if (margins_.view().elements() > 0 && !margin.empty()) keep(margins_, margin);
  filled_ += nll.elements();
}

void StepReports::add_reconstruction(kernels::Queue& queue, ConstTensorView losses) {
  const TensorView row = reconstructions_.view().rows(std::ssize(unread_), 1);
  queue.copy(row.reshaped({row.shape[1]}).rows(reconstructed_, losses.elements()), losses);
  reconstructed_ += losses.elements();
}

void StepReports::end_step(kernels::Queue& queue, int64_t step, int64_t scored, int64_t bytes,
                           ConstTensorView outcome) {
  queue.copy(outcomes_.view().rows(std::ssize(unread_), 1), outcome);
  if (!ended_.empty()) ended_[unread_.size()].set(queue.cuda().stream());
  unread_.push_back(
      {.step = step, .tokens = filled_, .scored = scored, .bytes = bytes, .reconstructed = reconstructed_});
  filled_ = reconstructed_ = 0;
}

int64_t StepReports::hits_of(int64_t row, int64_t tokens) const {
  if (margins_.view().elements() == 0) return 0;
  const float* const margin = margins_.as<float>() + row * tokens_;
  return std::count_if(margin, margin + tokens, [](float value) { return value > 0.0F; });
}

std::span<const StepReport> StepReports::read(kernels::Queue& queue) {
  const size_t ended = std::min(ended_.size(), unread_.size());
  for (size_t i = 0; i < ended; ++i) queue.cuda().wait_for(ended_[i]);
  queue.synchronize();
  reports_.clear();
  for (int64_t i = 0; i < std::ssize(unread_); ++i) {
    const auto [step, tokens, scored, bytes, reconstructed] = unread_[static_cast<size_t>(i)];
    const float* nll = losses_.as<float>() + i * tokens_;
    const float* reconstruction = reconstructions_.as<float>() + i * reconstructions_.shape()[1];
    reports_.push_back({.step = step,
                        .nll = std::accumulate(nll, nll + tokens, 0.0),
                        .hits = hits_of(i, tokens),
                        .scored = scored,
                        .bytes = bytes,
                        .gradient_norm = outcomes_.as<double>()[2 * i],
                        .reconstruction = std::accumulate(reconstruction, reconstruction + reconstructed, 0.0)});
  }
  unread_.clear();
  return reports_;
}

}  // namespace segue
