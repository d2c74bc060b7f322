// Schedules are made once and looked up by what they depend on.
#include "core/attention/schedules.h"

#include <algorithm>
#include <utility>

#include "base/bits.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

// A pattern for each length of windows, with the heads that have it.
std::vector<PatternConfig> patterns_of(std::span<const int64_t> windows) {
  std::vector<PatternConfig> patterns;
  for (size_t head = 0; head < windows.size(); ++head) {
    auto same = std::ranges::find(patterns, windows[head], &PatternConfig::window);
    if (same == patterns.end()) same = patterns.insert(same, {.window = windows[head]});
    same->heads.push_back(static_cast<int64_t>(head));
  }
  return patterns;
}

ModelUse use_of(const ScheduledLayer& layer) {
  ModelUse use;
  use.patterns = layer.patterns;
  use.layer = layer.layer;
  use.ahead = layer.ahead;
  use.global_tokens = layer.global_tokens;
  return use;
}

kernels::TileSchedule made_for(const ScheduledLayer& layer, int64_t mem_len, int64_t first_position) {
  if (!layer.memory_alone) return *schedule_of(use_of(layer), layer.heads, layer.tgt_len, mem_len, first_position);
  return {layer.tgt_len, mem_len, 1, [mem_len](int64_t, int64_t, uint64_t* keys) {
            set_bits({keys, static_cast<size_t>((mem_len + 63) / 64)}, 0, mem_len - 1);
          }};
}

}  // namespace

PlacedSchedule::PlacedSchedule(kernels::TileSchedule schedule, Device device) : schedule_(std::move(schedule)) {
  const std::vector<int64_t> words = schedule_.take_words();
  const Shape shape{static_cast<int64_t>(words.size())};
  words_ = OwnedTensor(DType::kInt64, shape, device);
  copy_tensor(words_.view(), view_of(words.data(), shape), device);
}

ScheduledLayer scheduled_layer(const ModelUse& use, int64_t heads, int64_t tgt_len, Device device) {
  const auto draws = [](const PatternConfig& pattern) { return pattern.kind == PatternKind::kRandom; };
  return {.patterns = use.patterns,
          .layer = std::ranges::any_of(use.patterns, draws) ? use.layer : 0,
          .ahead = use.ahead,
          .global_tokens = use.global_tokens,
          .heads = heads,
          .tgt_len = tgt_len,
          .device = device};
}

std::shared_ptr<const PlacedSchedule> Schedules::of(const ScheduledLayer& layer, int64_t mem_len,
                                                    int64_t first_position) {
  std::erase_if(shared_, [](const Shared& shared) { return shared.schedule.expired(); });
  for (const Shared& shared : shared_)
    if (shared.layer == layer && shared.mem_len == mem_len && shared.first_position == first_position)
      return shared.schedule.lock();
  auto made = std::make_shared<const PlacedSchedule>(made_for(layer, mem_len, first_position), layer.device);
  shared_.push_back({.layer = layer, .mem_len = mem_len, .first_position = first_position, .schedule = made});
  return made;
}

LayerTiles::LayerTiles(std::shared_ptr<Schedules> schedules, ScheduledLayer layer, int64_t number)
    : schedules_(std::move(schedules)),
      layer_(std::move(layer)),
      number_(number),
      period_(repeats_after(use_of(layer_))) {}

LayerTiles::Seen LayerTiles::at(int64_t mem_len, int64_t first_position, int64_t window,
                                std::span<const int64_t> head_windows) {
  const auto heads = static_cast<size_t>(layer_.heads);
  const auto here =
      head_windows.empty() ? head_windows : head_windows.subspan(static_cast<size_t>(number_) * heads, heads);
  if (!layer_.memory_alone && !here.empty() && here.front() > 0) {
    const auto is_first = [&here](int64_t other) { return other == here.front(); };
    if (std::ranges::all_of(here, is_first)) return {.window = std::min(window, here.front())};
    if (!std::ranges::equal(here, windows_)) {
      windows_.assign(here.begin(), here.end());
      layer_.patterns = patterns_of(here);
      mem_len_ = -1;
    }
  } else if (layer_.patterns.empty() && !layer_.memory_alone) {
    return {.window = window};
  }
  first_position %= period_;
  if (mem_len != mem_len_ || first_position != first_position_) held_ = schedules_->of(layer_, mem_len, first_position);
  mem_len_ = mem_len;
  first_position_ = first_position;
  return {.tiles = held_->tiles()};
}

}  // namespace segue
