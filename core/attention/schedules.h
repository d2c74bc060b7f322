// The tiles that sparse layers see, where kernels read them. Layers that see the same share them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/attention/visibility.h"

namespace segue {

// A schedule on a device.
class PlacedSchedule {
 public:
  PlacedSchedule(kernels::TileSchedule schedule, Device device);
  kernels::VisibleTiles tiles() const { return schedule_.tiles_at(words_.view().as<int64_t>()); }
  int64_t bytes() const { return words_.view().bytes(); }

 private:
  kernels::TileSchedule schedule_;
  OwnedTensor words_;
};

// What is seen by the heads of a layer of a recorded operation.
struct ScheduledLayer {
  std::vector<PatternConfig> patterns = {};
  int64_t layer = 0;  // if something is drawn for it; so layers that see the same are equal
  bool ahead = false;
  int64_t global_tokens = 0;  // before its own
  bool memory_alone = false;  // all of it, and nothing of the segment, whatever patterns say
  int64_t heads = 0;
  int64_t tgt_len = 0;
  Device device = {};
  bool operator==(const ScheduledLayer&) const = default;
};

ScheduledLayer scheduled_layer(const ModelUse& use, int64_t heads, int64_t tgt_len, Device device);

// Those that somebody holds, one of each.
class Schedules {
 public:
  // Of queries the first of which stands at `first_position`, below what the layer's patterns repeat after.
  std::shared_ptr<const PlacedSchedule> of(const ScheduledLayer& layer, int64_t mem_len, int64_t first_position);

 private:
  struct Shared {
    ScheduledLayer layer;
    int64_t mem_len, first_position;
    std::weak_ptr<const PlacedSchedule> schedule;
  };
  std::vector<Shared> shared_;
};

// What an operation of layer `number` sees of the memory that it reads, whose length may be another at every replay, as
// with a KV cache, from where in its stream its first query stands, and by learned spans, if it has such: the tiles of
// the last one are held.
class LayerTiles {
 public:
  LayerTiles(std::shared_ptr<Schedules> schedules, ScheduledLayer layer, int64_t number);

  struct Seen {
    int64_t window = 0;                // as the operation was recorded with, or narrower; 0 with tiles
    kernels::VisibleTiles tiles = {};  // without lists where a window says all
  };
  Seen at(int64_t mem_len, int64_t first_position, int64_t window, std::span<const int64_t> head_windows);

 private:
  std::shared_ptr<Schedules> schedules_;
  ScheduledLayer layer_;
  int64_t number_;
  int64_t period_ = 1;
  std::vector<int64_t> windows_;  // of the heads, that the patterns say
  int64_t mem_len_ = -1, first_position_ = 0;
  std::shared_ptr<const PlacedSchedule> held_;
};

}  // namespace segue
