// Pinned rows that the device fills, one for each step.
#include "core/train/step_reports.h"

#include <algorithm>
#include <numeric>

namespace segue {

StepReports::StepReports(const Extents& extents, Device device)
    : capacity_(extents.capacity),
      losses_(capacity_, extents.tokens, device),
      margins_(capacity_, extents.counts_hits ? extents.tokens : 0, device),
      reconstructions_(capacity_, extents.streams, device),
      passes_(capacity_, extents.counts_passes ? extents.tokens : 0, device),
      outcomes_(DType::kFloat64, {capacity_, 2}, device, BufferKind::kPinned),
      ended_(device.is_cuda() ? static_cast<size_t>(capacity_) : 0) {
  unread_.reserve(static_cast<size_t>(capacity_));
  reports_.reserve(static_cast<size_t>(capacity_));
}

void StepReports::Column::add(kernels::Queue& queue, int64_t row, ConstTensorView values) {
  const TensorView whole = rows.view().rows(row, 1);
  queue.copy(whole.reshaped({whole.shape[1]}).rows(filled, values.elements()), values);
  filled += values.elements();
}

std::span<const float> StepReports::Column::row(int64_t number, int64_t count) const {
  return {rows.as<float>() + number * rows.shape()[1], static_cast<size_t>(count)};
}

void StepReports::add(Column& column, kernels::Queue& queue, ConstTensorView values) {
  column.add(queue, std::ssize(unread_), values);
}

void StepReports::add_losses(kernels::Queue& queue, ConstTensorView nll, ConstTensorView margin) {
  add(losses_, queue, nll);
  if (margins_.rows.view().elements() > 0 && !margin.empty()) add(margins_, queue, margin);
}

void StepReports::add_reconstruction(kernels::Queue& queue, ConstTensorView losses) {
  add(reconstructions_, queue, losses);
}

void StepReports::add_passes(kernels::Queue& queue, ConstTensorView passes) { add(passes_, queue, passes); }

void StepReports::drop_step() { losses_.filled = margins_.filled = reconstructions_.filled = passes_.filled = 0; }

void StepReports::end_step(kernels::Queue& queue, int64_t step, int64_t scored, int64_t bytes,
                           ConstTensorView outcome) {
  queue.copy(outcomes_.view().rows(std::ssize(unread_), 1), outcome);
  if (!ended_.empty()) ended_[unread_.size()].set(queue.cuda().stream());
  unread_.push_back({.step = step,
                     .scored = scored,
                     .bytes = bytes,
                     .losses = losses_.filled,
                     .margins = margins_.filled,
                     .reconstructions = reconstructions_.filled,
                     .passes = passes_.filled});
  drop_step();
}

std::span<const StepReport> StepReports::read(kernels::Queue& queue) {
  const size_t ended = std::min(ended_.size(), unread_.size());
  for (size_t i = 0; i < ended; ++i) queue.cuda().wait_for(ended_[i]);
  queue.synchronize();
  reports_.clear();
  for (int64_t i = 0; i < std::ssize(unread_); ++i) {
    const Unread& unread = unread_[static_cast<size_t>(i)];
    const auto sum = [i](const Column& column, int64_t count) {
      const std::span<const float> row = column.row(i, count);
      return std::accumulate(row.begin(), row.end(), 0.0);
    };
    const auto is_hit = [](float margin) { return margin > 0.0F; };
    reports_.push_back({.step = unread.step,
                        .nll = sum(losses_, unread.losses),
                        .hits = std::ranges::count_if(margins_.row(i, unread.margins), is_hit),
                        .scored = unread.scored,
                        .bytes = unread.bytes,
                        .gradient_norm = outcomes_.as<double>()[2 * i],
                        .reconstruction = sum(reconstructions_, unread.reconstructions),
                        .passes = sum(passes_, unread.passes),
                        .halting_tokens = unread.passes});
  }
  unread_.clear();
  return reports_;
}

}  // namespace segue
