// The tiles that sparse layers see, where kernels read them. Layers that see the same share them.
#pragma once

#include <cstdint>
#include <memory>
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
  int64_t heads = 0;
  int64_t tgt_len = 0;
  Device device = {};
  bool operator==(const ScheduledLayer&) const = default;
};

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

// An operation's tiles for the memory that it reads and for where in its stream its first query stands, which may be
// others at every replay, as with a KV cache: those of the last one are held.
class LayerTiles {
 public:
  LayerTiles(std::shared_ptr<Schedules> schedules, ScheduledLayer layer);
  kernels::VisibleTiles at(int64_t mem_len, int64_t first_position);  // without lists where there are no patterns

 private:
  std::shared_ptr<Schedules> schedules_;
  ScheduledLayer layer_;
  int64_t period_ = 1;
  int64_t mem_len_ = -1, first_position_ = 0;
  std::shared_ptr<const PlacedSchedule> held_;
};

}  // namespace segue
