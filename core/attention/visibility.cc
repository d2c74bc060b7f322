// The key counts of a window and of `same_length`, and the keys of patterns.
#include "core/attention/visibility.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/bits.h"
#include "base/error.h"
#include "base/random.h"
#include "core/config/layers.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

bool names(const PatternConfig& pattern, int64_t head) {
  return pattern.heads.empty() || std::ranges::find(pattern.heads, head) != pattern.heads.end();
}

// Whether the same patterns name both heads, and draw nothing for either.
bool see_alike(const ModelUse& use, int64_t head, int64_t other) {
  return std::ranges::all_of(use.patterns, [&](const PatternConfig& pattern) {
    if (!names(pattern, head)) return !names(pattern, other);
    return names(pattern, other) && pattern.kind != PatternKind::kRandom;
  });
}

// Of each head the first one that sees the same; of one head where all do.
std::vector<int64_t> first_alike(const ModelUse& use, int64_t heads) {
  std::vector<int64_t> first;
  for (int64_t head = 0; head < heads; ++head) {
    int64_t other = 0;
    while (other < head && !see_alike(use, head, other)) ++other;
    first.push_back(other);
  }
  if (std::ranges::count(first, 0) == heads) first.resize(1);
  return first;
}

// The keys of one query, named by how many tokens they lie before it; those ahead by numbers below 0.
class SeenKeys {
 public:
  SeenKeys(std::span<uint64_t> bits, int64_t keys, int64_t ahead) : bits_(bits), keys_(keys), ahead_(ahead) {}

  int64_t keys() const { return keys_; }  // up to its own
  int64_t ahead() const { return ahead_; }

  void see(int64_t nearest, int64_t farthest) {
    const int64_t first = std::max<int64_t>(keys_ - 1 - farthest, 0);
    const int64_t last = keys_ - 1 - std::max(nearest, -ahead_);
    if (first <= last) set_bits(bits_, first, last);
  }
  void see_one(int64_t distance) {
    const int64_t key = keys_ - 1 - distance;
    bits_[static_cast<size_t>(key / 64)] |= uint64_t{1} << (key % 64);
  }
  void see_all() { see(-ahead_, keys_ - 1); }

  // Those of the block so many blocks before the query's, of which the query is at `phase`.
  void see_block(int64_t block, int64_t phase, int64_t blocks_back) {
    const int64_t last = phase + blocks_back * block;
    see(last - block + 1, last);
  }

  // Those at positions from .. from + columns - 1 of every period, of which the query is at `phase`.
  void see_columns(int64_t period, int64_t phase, int64_t from, int64_t columns) {
    const int64_t periods_ahead = ahead_ / period + 1;
    for (int64_t farthest = phase - from - periods_ahead * period; farthest - columns + 1 < keys_; farthest += period)
      see(farthest - columns + 1, farthest);
  }

 private:
  std::span<uint64_t> bits_;
  int64_t keys_, ahead_;
};

void see_pattern(const PatternConfig& pattern, const DrawnFor& whom, int64_t position, SeenKeys& keys) {
  using enum PatternKind;
  const int64_t phase = position % pattern.repeats_after();
  switch (pattern.kind) {
    case kWindow:
      return keys.see(1 - pattern.window, pattern.window - 1);
    case kDilated:
    case kStrided: {
      const int64_t end = pattern.farthest_distance(position).value_or(keys.keys() + keys.ahead()) + 1;
      for (int64_t distance = 0; distance < std::min(end, keys.keys()); distance += pattern.stride)
        keys.see_one(distance);
      for (int64_t distance = 0; distance < std::min(end, keys.ahead() + 1); distance += pattern.stride)
        keys.see_one(-distance);
      return;
    }
    case kBlocks:
      return keys.see(phase + 1 - pattern.block - pattern.before, phase + pattern.before);
    case kBlockwise:
      return keys.see_block(pattern.block, phase, pattern.shift);
    case kFixed:
      return keys.see_columns(pattern.period, phase, pattern.first_column(), pattern.columns);
    case kGlobal:
      if (phase < pattern.columns) return keys.see_all();
      return keys.see_columns(pattern.period, phase, 0, pattern.columns);
    case kRandom:
      for (const int64_t blocks_back : drawn_blocks(pattern, whom, phase / pattern.block))
        keys.see_block(pattern.block, phase % pattern.block, blocks_back);
      return;
  }
}

// Of heads from `first_head` on.
kernels::TileSchedule tiles_of(const ModelUse& use, const std::vector<int64_t>& alike, int64_t first_head,
                               int64_t tgt_len, int64_t memory, int64_t first_position) {
  return {tgt_len, memory, alike,
          [&](int64_t group, int64_t query, uint64_t* keys) {
            const auto words = static_cast<size_t>((memory + (use.ahead ? tgt_len : query + 1) + 63) / 64);
            see_keys_of_row(use, first_head + group, query, tgt_len, memory, first_position, {keys, words});
          },
          use.ahead};
}

}  // namespace

void see_keys(const ModelUse& use, int64_t head, int64_t position, int64_t keys, std::span<uint64_t> bits,
              int64_t ahead) {
  SeenKeys seen(bits, keys, use.ahead ? ahead : 0);
  if (use.patterns.empty()) {
    const int64_t window = visible_window(use);
    return window == 0 ? seen.see_all() : seen.see(0, window - 1);
  }
  seen.see(0, 0);
  for (size_t i = 0; i < use.patterns.size(); ++i) {
    const DrawnFor whom{.layer = use.layer, .pattern = static_cast<int64_t>(i), .head = head};
    if (names(use.patterns[i], head)) see_pattern(use.patterns[i], whom, position, seen);
  }
}

void see_keys_of_row(const ModelUse& use, int64_t head, int64_t row, int64_t rows, int64_t memory,
                     int64_t first_position, std::span<uint64_t> bits) {
  const int64_t ahead = use.ahead ? rows - 1 - row : 0;
  const int64_t global = use.global_tokens;
  if (global == 0) return see_keys(use, head, first_position + row, memory + row + 1, bits, ahead);
  if (row < global) return set_bits(bits, 0, memory + row + ahead);
  const int64_t own = row - global;
  std::vector<uint64_t> others(static_cast<size_t>((memory + own + ahead) / 64 + 1));
  see_keys(use, head, first_position + own, memory + own + 1, others, ahead);
  insert_set_bits(others, memory, global, bits);
}

int64_t repeats_after(const ModelUse& use) {
  int64_t period = 1;
  for (const PatternConfig& pattern : use.patterns) period = std::lcm(period, pattern.repeats_after());
  return period;
}

// Floyd's sample of `count` of so many candidates (Bentley 1987): each set is as likely as any other.
std::vector<int64_t> drawn_blocks(const PatternConfig& pattern, const DrawnFor& whom, int64_t block_of_queries) {
  const RandomSequence random{.seed = static_cast<uint64_t>(pattern.seed),
                              .step = static_cast<uint64_t>(whom.layer) << 32 | static_cast<uint64_t>(whom.pattern),
                              .site = static_cast<uint16_t>(whom.head)};
  const int64_t candidates = pattern.farthest - pattern.nearest + 1;
  std::vector<int64_t> drawn;
  for (int64_t last = candidates - pattern.count; last < candidates; ++last) {
    const auto element = static_cast<uint64_t>(block_of_queries * candidates + last);
    const auto below = static_cast<int64_t>(random_uniform(random, element) * static_cast<double>(last + 1));
    const int64_t block = pattern.nearest + below;
    drawn.push_back(std::ranges::find(drawn, block) == drawn.end() ? block : pattern.nearest + last);
  }
  return drawn;
}

int64_t visible_window(const ModelUse& use) {
  if (use.window > 0) return use.window;
  if (!use.same_length) return 0;
  const int64_t window = use.mem_len + (use.same_length_extra_key ? 1 : 0);
  if (window == 0) throw ConfigError("same_length with mem_len 0 and no extra key: no query would see a key");
  return window;
}

int64_t keys_in_reach(const ModelUse& use, int64_t position) {
  if (use.patterns.empty()) return visible_window(use);
  int64_t keys = 0;
  for (const PatternConfig& pattern : use.patterns) {
    const std::optional<int64_t> distance = pattern.farthest_distance(position);
    if (!distance) return 0;
    keys = std::max(keys, *distance + 1);
  }
  return keys;
}

std::vector<int64_t> widest_reach(const ModelConfig& model, const ModelUse& use) {
  std::vector<ModelUse> layers;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) layers.push_back(use_of_layer(model, use, layer));
  int64_t period = 1;
  for (const ModelUse& layer : layers) period = std::lcm(period, repeats_after(layer));
  std::vector<int64_t> widest;
  for (int64_t position = 0; position < period; ++position) {
    int64_t most = 0;
    bool is_bounded = true;
    for (const ModelUse& layer : layers) {
      const int64_t keys = keys_in_reach(layer, position);
      is_bounded = is_bounded && keys > 0;
      most = std::max(most, keys);
    }
    widest.push_back(is_bounded ? most : 0);
  }
  return widest;
}

double visible_pairs(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory) {
  const std::optional<kernels::TileSchedule> schedule = schedule_of(use, heads, tgt_len, memory);
  if (schedule) return static_cast<double>(schedule->pairs()) / static_cast<double>(schedule->groups());
  const int64_t window = visible_window(use);
  double pairs = 0.0;
  if (use.ahead) return static_cast<double>(tgt_len * (memory + tgt_len));
  for (int64_t keys = memory + 1; keys <= memory + tgt_len; ++keys)
    pairs += static_cast<double>(window == 0 ? keys : std::min(keys, window));
  return pairs;
}

double visible_tiles(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory) {
  const kernels::TileSchedule seen = tiles_of(use, first_alike(use, heads), 0, tgt_len, memory, 0);
  return static_cast<double>(seen.tiles()) / static_cast<double>(seen.groups());
}

kernels::TileSchedule tiles_seen(const ModelUse& use, int64_t head, int64_t tgt_len, int64_t memory) {
  return tiles_of(use, {0}, head, tgt_len, memory, 0);
}

std::optional<kernels::TileSchedule> schedule_of(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory,
                                                 int64_t first_position) {
  if (use.patterns.empty()) return {};
  return tiles_of(use, first_alike(use, heads), 0, tgt_len, memory, first_position);
}

}  // namespace segue
