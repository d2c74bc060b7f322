// Ways of seeing, found by the keys that the queries of a segment see.
#include "core/report/seen_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/attention/visibility.h"
#include "core/config/layers.h"
#include "core/drawing/curves.h"

namespace segue::report {

namespace {

using Runs = std::vector<VisiblePairs::Keys>;  // of keys, counted from the segment's first token

Runs keys_seen(const ModelUse& use, int64_t head, int64_t token, int64_t memory) {
  const int64_t keys = memory + token + 1;
  std::vector<uint64_t> bits(static_cast<size_t>((keys + 63) / 64));
  see_keys(use, head, token, keys, bits);
  Runs runs;
  for (int64_t key = 0; key < keys; ++key) {
    if ((bits[static_cast<size_t>(key / 64)] >> (key % 64) & 1) == 0) continue;
    if (!runs.empty() && runs.back().last + 1 == key - memory) {
      ++runs.back().last;
    } else {
      runs.push_back({.first = key - memory, .last = key - memory});
    }
  }
  return runs;
}

// Of each token that a drawing has a row for, as a way is told from another by what it is drawn as.
std::vector<Runs> rows_seen(const ModelUse& use, int64_t head, int64_t tgt_len, int64_t memory) {
  std::vector<Runs> rows;
  for (const size_t token : even_choice(static_cast<size_t>(tgt_len), kMostTokenRows))
    rows.push_back(keys_seen(use, head, static_cast<int64_t>(token), memory));
  return rows;
}

// Heads that see the same, in layers where the same heads do.
struct Way {
  std::vector<Runs> rows;
  std::vector<int64_t> layers, heads;
};

std::vector<Way> ways_of_layer(const ModelConfig& model, int64_t layer, int64_t tgt_len) {
  const ModelUse use = use_of_layer(model, use_of(model), layer);
  std::vector<Way> ways;
  for (int64_t head = 0; head < model.n_head; ++head) {
    std::vector<Runs> rows = rows_seen(use, head, tgt_len, model.mem_len);
    const auto same = std::ranges::find(ways, rows, &Way::rows);
    if (same != ways.end()) {
      same->heads.push_back(head);
    } else {
      ways.push_back({.rows = std::move(rows), .layers = {layer}, .heads = {head}});
    }
  }
  return ways;
}

std::vector<Way> ways_of(const ModelConfig& model, int64_t tgt_len) {
  std::vector<Way> ways;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    for (Way& way : ways_of_layer(model, layer, tgt_len)) {
      const auto same = std::ranges::find_if(
          ways, [&way](const Way& other) { return other.rows == way.rows && other.heads == way.heads; });
      if (same != ways.end()) {
        same->layers.push_back(layer);
      } else {
        ways.push_back(std::move(way));
      }
    }
  }
  return ways;
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

std::vector<VisiblePairs> seen_pairs(const ModelConfig& model, int64_t tgt_len, const std::string& name) {
  std::vector<VisiblePairs> drawings;
  for (Way& way : ways_of(model, tgt_len)) {
    const std::string of = text_of(way, model);
    VisiblePairs& drawing = drawings.emplace_back();
    drawing.title = of.empty() ? name : name.empty() ? of : fmt::format("{} ({})", name, of);
    drawing.memory = model.mem_len;
    drawing.segment = tgt_len;
    drawing.rows = std::move(way.rows);
  }
  return drawings;
}

std::string count_seen_pairs(const ModelConfig& model, int64_t tgt_len) {
  const int64_t memory = model.mem_len;
  const kernels::TileSchedule causal = tiles_seen({.mem_len = memory}, 0, tgt_len, memory);
  std::string text = fmt::format("seen by a head of one stream, of segment {} and memory {}\n", tgt_len, memory);
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
  for (const Way& way : ways_of(model, tgt_len)) {
    const ModelUse use = use_of_layer(model, use_of(model), way.layers.front());
    const kernels::TileSchedule found = tiles_seen(use, way.heads.front(), tgt_len, memory);
    const double share =
        static_cast<double>(way.layers.size() * way.heads.size()) / static_cast<double>(model.n_layer * model.n_head);
    pairs += share * static_cast<double>(found.pairs());
    tiles += share * static_cast<double>(found.tiles());
    add_line(numbers_text(way.layers, model.n_layer), numbers_text(way.heads, model.n_head),
             static_cast<double>(found.pairs()), static_cast<double>(found.tiles()));
  }
  add_line("mean", "", pairs, tiles);
  return text;
}

}  // namespace segue::report
