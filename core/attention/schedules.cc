// Schedules by what they depend on.
#include "core/attention/schedules.h"

#include <algorithm>
#include <utility>

namespace segue {

PlacedSchedule::PlacedSchedule(kernels::TileSchedule schedule, Device device) : schedule_(std::move(schedule)) {
  const std::vector<int64_t> words = schedule_.take_words();
  const Shape shape{static_cast<int64_t>(words.size())};
  words_ = OwnedTensor(DType::kInt64, shape, device);
  copy_tensor(words_.view(), view_of(words.data(), shape), device);
}

std::shared_ptr<const PlacedSchedule> Schedules::of(const ScheduledLayer& layer, int64_t mem_len) {
  std::erase_if(shared_, [](const Shared& shared) { return shared.schedule.expired(); });
  for (const Shared& shared : shared_)
    if (shared.layer == layer && shared.mem_len == mem_len) return shared.schedule.lock();
  ModelUse use;
  use.patterns = layer.patterns;
  auto made =
      std::make_shared<const PlacedSchedule>(*schedule_of(use, layer.heads, layer.tgt_len, mem_len), layer.device);
  shared_.push_back({.layer = layer, .mem_len = mem_len, .schedule = made});
  return made;
}

kernels::VisibleTiles LayerTiles::at(int64_t mem_len) {
  if (layer_.patterns.empty()) return {};
  if (mem_len != mem_len_) held_ = schedules_->of(layer_, mem_len);
  mem_len_ = mem_len;
  return held_->tiles();
}

}  // namespace segue
