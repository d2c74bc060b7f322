// The key counts of a window and of `same_length`, and the distances of patterns.
#include "core/attention/visibility.h"

#include <algorithm>
#include <vector>

#include "base/bits.h"
#include "base/error.h"
#include "core/config/layers.h"

namespace segue {

namespace {

bool names(const PatternConfig& pattern, int64_t head) {
  return pattern.heads.empty() || std::ranges::find(pattern.heads, head) != pattern.heads.end();
}

bool sees(const PatternConfig& pattern, int64_t distance) {
  if (distance > pattern.farthest().value_or(distance)) return false;
  return pattern.kind == PatternKind::kWindow || distance % pattern.stride == 0;
}

bool heads_differ(const ModelUse& use) {
  return std::ranges::any_of(use.patterns, [](const PatternConfig& pattern) { return !pattern.heads.empty(); });
}

// The distances that a head sees of `keys` keys, the farthest first, as bits.
std::vector<uint64_t> seen_distances(const ModelUse& use, int64_t head, int64_t keys) {
  std::vector<uint64_t> bits(static_cast<size_t>((keys + 63) / 64));
  for (int64_t distance = 0; distance < keys; ++distance) {
    const int64_t bit = keys - 1 - distance;
    if (sees(use, head, distance)) bits[static_cast<size_t>(bit / 64)] |= uint64_t{1} << (bit % 64);
  }
  return bits;
}

// Of groups of heads, by the distances that they see. What a query sees of the keys is what the last one sees of them,
// moved by as many positions as lie between.
kernels::TileSchedule tiles_of(const std::vector<std::vector<uint64_t>>& distances, int64_t tgt_len, int64_t memory) {
  return {tgt_len, memory, std::ssize(distances), [&](int64_t group, int64_t query, uint64_t* keys) {
            const std::vector<uint64_t>& of_last = distances[static_cast<size_t>(group)];
            for (size_t word = 0; word < of_last.size(); ++word)
              keys[word] = bits_from(of_last, tgt_len - 1 - query + static_cast<int64_t>(word) * 64);
          }};
}

}  // namespace

bool sees(const ModelUse& use, int64_t head, int64_t distance) {
  if (distance < 0) return false;
  if (use.patterns.empty()) {
    const int64_t window = visible_window(use);
    return window == 0 || distance < window;
  }
  return std::ranges::any_of(use.patterns, [head, distance](const PatternConfig& pattern) {
    return names(pattern, head) && sees(pattern, distance);
  });
}

int64_t visible_window(const ModelUse& use) {
  if (use.window > 0) return use.window;
  if (!use.same_length) return 0;
  const int64_t window = use.mem_len + (use.same_length_extra_key ? 1 : 0);
  if (window == 0) throw ConfigError("same_length with mem_len 0 and no extra key: no query would see a key");
  return window;
}

int64_t keys_in_reach(const ModelUse& use) {
  if (use.patterns.empty()) return visible_window(use);
  int64_t keys = 0;
  for (const PatternConfig& pattern : use.patterns) {
    const std::optional<int64_t> distance = pattern.farthest();
    if (!distance) return 0;
    keys = std::max(keys, *distance + 1);
  }
  return keys;
}

int64_t widest_reach(const ModelConfig& model, const ModelUse& use) {
  int64_t widest = 0;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const int64_t keys = keys_in_reach(use_of_layer(model, use, layer));
    if (keys == 0) return 0;
    widest = std::max(widest, keys);
  }
  return widest;
}

// A distance is that of as many pairs as there are queries with a key so far back.
double visible_pairs(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory) {
  const int64_t groups = heads_differ(use) ? heads : 1;
  double pairs = 0.0;
  for (int64_t head = 0; head < groups; ++head) {
    for (int64_t distance = 0; distance < memory + tgt_len; ++distance)
      if (sees(use, head, distance)) pairs += static_cast<double>(std::min(tgt_len, memory + tgt_len - distance));
  }
  return pairs / static_cast<double>(groups);
}

kernels::TileSchedule tiles_seen(const ModelUse& use, int64_t head, int64_t tgt_len, int64_t memory) {
  return tiles_of({seen_distances(use, head, memory + tgt_len)}, tgt_len, memory);
}

std::optional<kernels::TileSchedule> schedule_of(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory) {
  if (use.patterns.empty()) return {};
  std::vector<std::vector<uint64_t>> distances;
  for (int64_t group = 0; group < (heads_differ(use) ? heads : 1); ++group)
    distances.push_back(seen_distances(use, group, memory + tgt_len));
  return tiles_of(distances, tgt_len, memory);
}

}  // namespace segue
