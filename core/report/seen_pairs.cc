// Heads are grouped by the keys that the queries of a segment see.
#include "core/report/seen_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/attention/visibility.h"
#include "core/config/layers.h"
#include "core/config/visibility_kind.h"
#include "core/drawing/curves.h"

namespace segue::report {

namespace {

using Runs = std::vector<VisiblePairs::Keys>;  // of keys, counted from the segment's first token

// What some head of a layer sees: all that it depends on but what is drawn for that layer and head.
struct Sight {
  std::vector<PatternConfig> patterns;
  int64_t window = 0;
  bool is_drawn = false;  // some of it
  bool operator==(const Sight&) const = default;
};

Sight sight_of(const ModelUse& use, int64_t head) {
  Sight sight;
  if (use.patterns.empty()) sight.window = visible_window(use);
  for (PatternConfig pattern : use.patterns) {
    const std::vector<int64_t> heads = std::exchange(pattern.heads, {});
    if (!heads.empty() && std::ranges::find(heads, head) == heads.end()) continue;
    sight.is_drawn = sight.is_drawn || pattern.kind == PatternKind::kRandom;
    sight.patterns.push_back(std::move(pattern));
  }
  return sight;
}

// Heads that see the same, or would but for what is drawn, in layers where the same heads do.
struct Way {
  Sight sight;
  std::vector<int64_t> layers, heads;
};

std::vector<Way> ways_of_layer(const ModelConfig& model, int64_t layer) {
  const ModelUse use = use_of_layer(model, use_of(model), layer);
  std::vector<Way> ways;
  for (int64_t head = 0; head < model.n_head; ++head) {
    Sight sight = sight_of(use, head);
    const auto same = std::ranges::find(ways, sight, &Way::sight);
    if (same != ways.end()) {
      same->heads.push_back(head);
    } else {
      ways.push_back({.sight = std::move(sight), .layers = {layer}, .heads = {head}});
    }
  }
  return ways;
}

std::vector<Way> ways_of(const ModelConfig& model) {
  std::vector<Way> ways;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    for (Way& way : ways_of_layer(model, layer)) {
      const auto same = std::ranges::find_if(
          ways, [&way](const Way& other) { return other.sight == way.sight && other.heads == way.heads; });
      if (same != ways.end()) {
        same->layers.push_back(layer);
      } else {
        ways.push_back(std::move(way));
      }
    }
  }
  return ways;
}

// What the first head of the way's first layer sees.
ModelUse use_of_way(const ModelConfig& model, const Way& way) {
  return use_of_layer(model, use_of(model), way.layers.front());
}

// The keys that any of `count` tokens from `first` on sees, of the memory and a segment of `tgt_len`.
Runs keys_seen(const ModelUse& use, int64_t head, int64_t first, int64_t count, int64_t tgt_len) {
  const int64_t memory = use.memory_rows();
  std::vector<uint64_t> bits(static_cast<size_t>((memory + tgt_len + 63) / 64));
  for (int64_t token = first; token < first + count; ++token)
    see_keys_of_row(use, head, token, tgt_len, memory, 0, bits);
  Runs runs;
  for (int64_t key = 0; key < memory + tgt_len; ++key) {
    if ((bits[static_cast<size_t>(key / 64)] >> (key % 64) & 1) == 0) continue;
    if (!runs.empty() && runs.back().last + 1 == key - memory) {
      ++runs.back().last;
    } else {
      runs.push_back({.first = key - memory, .last = key - memory});
    }
  }
  return runs;
}

// "0-2, 4"; "all" when there are no others.
std::string numbers_text(const std::vector<int64_t>& numbers, int64_t count) {
  if (std::ssize(numbers) == count) return "all";
  std::vector<std::string> parts;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(last == first ? fmt::format("{}", numbers[first])
                                  : fmt::format("{}-{}", numbers[first], numbers[last]));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "layer 3, heads 0-1"
std::string text_of(const Way& way, const ModelConfig& model) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* word, const std::vector<int64_t>& numbers, int64_t count) {
    if (std::ssize(numbers) < count)
      parts.push_back(fmt::format("{}{} {}", word, numbers.size() == 1 ? "" : "s", numbers_text(numbers, count)));
  };
  add("layer", way.layers, model.n_layer);
  add("head", way.heads, model.n_head);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

// Memory tokens are rows of a segment, before and behind its own, and those of a global stream before it.
std::vector<VisiblePairs> seen_pairs(const ModelConfig& model, int64_t tokens, const std::string& name) {
  const int64_t tgt_len = use_of(model).rows_of(tokens);
  std::vector<VisiblePairs> drawings;
  const int64_t rows = std::min(tgt_len, kMostTokenRows);
  for (const Way& way : ways_of(model)) {
    const std::string of = text_of(way, model);
    const ModelUse use = use_of_way(model, way);
    VisiblePairs& drawing = drawings.emplace_back();
    drawing.title = of.empty() ? name : name.empty() ? of : fmt::format("{} ({})", name, of);
    if (way.sight.is_drawn && way.layers.size() * way.heads.size() > 1)
      drawing.title +=
          fmt::format("{}one of {} draws", drawing.title.empty() ? "" : "; ", way.layers.size() * way.heads.size());
    drawing.memory = use.memory_rows();
    drawing.segment = tgt_len;
    drawing.global_tokens = use.global_tokens;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = tgt_len * row / rows;
      const int64_t count = tgt_len * (row + 1) / rows - first;
      drawing.rows.push_back(keys_seen(use, way.heads.front(), first, count, tgt_len));
    }
  }
  return drawings;
}

std::string count_seen_pairs(const ModelConfig& model, int64_t tokens) {
  const int64_t tgt_len = use_of(model).rows_of(tokens);
  const int64_t memory = use_of(model).memory_rows();
  const kernels::TileSchedule causal = tiles_seen({.mem_len = memory}, 0, tgt_len, memory);
  const std::string more = tgt_len > tokens ? fmt::format(", {} with memory or global tokens,", tgt_len) : "";
  std::string text = fmt::format("seen by a head of one stream, of segment {}{} and memory {}\n", tokens, more, memory);
  text += fmt::format("{:<14} {:<14} {:>14} {:>10} {:>12} {:>10}\n", "layers", "heads", "pairs", "of causal", "tiles",
                      "of causal");
  double pairs = 0.0, tiles = 0.0;
  const auto add_line = [&](const std::string& layers, const std::string& heads, double of_pairs, double of_tiles) {
    text += fmt::format(
        "{:<14} {:<14} {:>14} {:>8.1f} % {:>12} {:>8.1f} %\n", layers, heads, human_count(std::llround(of_pairs)),
        100.0 * of_pairs / static_cast<double>(causal.pairs()),
        of_tiles == std::floor(of_tiles) ? human_count(std::llround(of_tiles)) : fmt::format("{:.2f}", of_tiles),
        100.0 * of_tiles / static_cast<double>(causal.tiles()));
  };
  bool is_drawn = false;
  for (const Way& way : ways_of(model)) {
    const ModelUse use = use_of_way(model, way);
    is_drawn = is_drawn || way.sight.is_drawn;
    const kernels::TileSchedule found = tiles_seen(use, way.heads.front(), tgt_len, memory);
    const double share =
        static_cast<double>(way.layers.size() * way.heads.size()) / static_cast<double>(model.n_layer * model.n_head);
    pairs += share * static_cast<double>(found.pairs());
    tiles += share * static_cast<double>(found.tiles());
    add_line(numbers_text(way.layers, model.n_layer), numbers_text(way.heads, model.n_head),
             static_cast<double>(found.pairs()), static_cast<double>(found.tiles()));
  }
  add_line("mean", "", pairs, tiles);
  if (is_drawn) text += "with random blocks, of the first head and layer; others differ a little\n";
  return text;
}

}  // namespace segue::report
