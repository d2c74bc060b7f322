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

namespace {

ModelUse use_of(const ScheduledLayer& layer) {
  ModelUse use;
  use.patterns = layer.patterns;
  return use;
}

}  // namespace

std::shared_ptr<const PlacedSchedule> Schedules::of(const ScheduledLayer& layer, int64_t mem_len,
                                                    int64_t first_position) {
  std::erase_if(shared_, [](const Shared& shared) { return shared.schedule.expired(); });
  for (const Shared& shared : shared_)
    if (shared.layer == layer && shared.mem_len == mem_len && shared.first_position == first_position)
      return shared.schedule.lock();
  auto made = std::make_shared<const PlacedSchedule>(
      *schedule_of(use_of(layer), layer.heads, layer.tgt_len, mem_len, first_position), layer.device);
  shared_.push_back({.layer = layer, .mem_len = mem_len, .first_position = first_position, .schedule = made});
  return made;
}

LayerTiles::LayerTiles(std::shared_ptr<Schedules> schedules, ScheduledLayer layer)
    : schedules_(std::move(schedules)), layer_(std::move(layer)), period_(repeats_after(use_of(layer_))) {}

kernels::VisibleTiles LayerTiles::at(int64_t mem_len, int64_t first_position) {
  if (layer_.patterns.empty()) return {};
  first_position %= period_;
  if (mem_len != mem_len_ || first_position != first_position_) held_ = schedules_->of(layer_, mem_len, first_position);
  mem_len_ = mem_len;
  first_position_ = first_position;
  return held_->tiles();
}

}  // namespace segue
