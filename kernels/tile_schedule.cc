// Tiles from the keys that each query sees.
#include "kernels/tile_schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>

#include "base/bits.h"
#include "base/error.h"

namespace segue::kernels {

namespace {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

using Mask = std::array<uint64_t, kScheduleTile>;

constexpr int32_t kNothing = -2;
constexpr int32_t kAll = -1;

// The masks so far, each once, by number.
class Masks {
 public:
  int32_t number_of(const Mask& mask) {
    if (std::ranges::all_of(mask, [](uint64_t row) { return row == 0; })) return kNothing;
    if (std::ranges::all_of(mask, [](uint64_t row) { return row == ~uint64_t{0}; })) return kAll;
    const auto [found, is_new] = numbers_.try_emplace(mask, static_cast<int32_t>(numbers_.size()));
    if (is_new) rows_.insert(rows_.end(), mask.begin(), mask.end());
    return found->second;
  }
  const std::vector<uint64_t>& rows() const { return rows_; }

 private:
  std::map<Mask, int32_t> numbers_;
  std::vector<uint64_t> rows_;
};

uint64_t reversed(uint64_t bits) {
  for (const auto& [shift, low] :
       {std::pair{1, 0x5555555555555555U}, {2, 0x3333333333333333U}, {4, 0x0f0f0f0f0f0f0f0fU}})
    bits = (bits >> shift & low) | (bits & low) << shift;
  return __builtin_bswap64(bits);
}

// The keys that the queries of a tile see, as many as there are.
class SeenRows {
 public:
  explicit SeenRows(int64_t keys)
      : words_(divide_up(keys, kScheduleTile)), bits_(static_cast<size_t>(words_ * kScheduleTile)) {}

  void begin(int64_t rows) {
    rows_ = rows;
    first_word_ = words_;
    last_word_ = -1;
    std::fill_n(bits_.begin(), rows * words_, 0);
  }
  uint64_t* row(int64_t row) { return bits_.data() + row * words_; }
  const uint64_t* row(int64_t row) const { return bits_.data() + row * words_; }
  int64_t rows() const { return rows_; }
  // That some row has bits in words first .. last.
  void note(int64_t first, int64_t last) {
    first_word_ = std::min(first_word_, first);
    last_word_ = std::max(last_word_, last);
  }
  int64_t first_word() const { return first_word_; }
  int64_t last_word() const { return last_word_; }

  // 64 bits from key `first` on, which may lie before the first key; zeros for keys that there are not.
  uint64_t bits_from(int64_t row, int64_t first) const {
    return segue::bits_from({this->row(row), static_cast<size_t>(words_)}, first);
  }

 private:
  int64_t words_;
  int64_t rows_ = 0, first_word_ = 0, last_word_ = -1;
  std::vector<uint64_t> bits_;
};

// Lists that are still growing: entries of each tile.
using Entry = std::array<int32_t, 2>;
using GrowingLists = std::vector<std::vector<Entry>>;

std::vector<Entry>& list(GrowingLists& lists, int64_t group, int64_t tiles, int64_t tile) {
  return lists[static_cast<size_t>(group * tiles + tile)];
}

// Everything that a schedule holds.
class Builder {
 public:
  Builder(int64_t queries, int64_t memory, int64_t groups, bool ahead)
      : pairs(static_cast<size_t>(groups)),
        tiles(pairs.size()),
        keys_of_queries(static_cast<size_t>(groups * divide_up(queries, kScheduleTile))),
        queries_of_keys(static_cast<size_t>(groups * divide_up(memory + queries, kScheduleTile))),
        queries_of_distances(queries_of_keys.size()),
        distances_of_queries(keys_of_queries.size()),
        queries_(queries),
        memory_(memory),
        ahead_(ahead),
        tiles_of_queries_(divide_up(queries, kScheduleTile)),
        tiles_of_keys_(divide_up(memory + queries, kScheduleTile)) {}

  void add_group(int64_t group, const TileSchedule::SeenKeys& seen_keys) {
    SeenRows rows(memory_ + queries_);
    for (int64_t tile = 0; tile < tiles_of_queries_; ++tile) {
      const int64_t first = tile * kScheduleTile;
      rows.begin(std::min(kScheduleTile, queries_ - first));
      for (int64_t row = 0; row < rows.rows(); ++row) {
        seen_keys(group, first + row, rows.row(row));
        take_row(group, first + row, rows.row(row), rows);
      }
      add_tiles_of_keys(group, tile, rows);
      add_tiles_of_distances(group, tile, rows);
    }
  }

  std::vector<int64_t> pairs, tiles;  // by group
  Masks masks;
  GrowingLists keys_of_queries, queries_of_keys, queries_of_distances, distances_of_queries;

 private:
  void take_row(int64_t group, int64_t query, const uint64_t* keys, SeenRows& rows) {
    const int64_t own = memory_ + query;
    int64_t seen = 0;
    int64_t last = -1;
    for (int64_t word = 0; word < tiles_of_keys_; ++word) {
      if (keys[word] == 0) continue;
      if (seen == 0) rows.note(word, word);
      seen += std::popcount(keys[word]);
      last = word * 64 + 63 - std::countl_zero(keys[word]);
    }
    if (seen > 0) rows.note(last / 64, last / 64);
    if (seen == 0) throw ContractError("tile schedule: query {} of group {} sees no key", query, group);
    if (last > own && !ahead_)
      throw ContractError("tile schedule: query {} of group {} sees key {}, after its own, {}", query, group, last,
                          own);
    pairs[static_cast<size_t>(group)] += seen;
  }

  void add_tiles_of_keys(int64_t group, int64_t tile, const SeenRows& rows) {
    for (int64_t keys = rows.first_word(); keys <= rows.last_word(); ++keys) {
      Mask mask{};
      for (int64_t row = 0; row < rows.rows(); ++row) mask[static_cast<size_t>(row)] = rows.row(row)[keys];
      const int32_t number = masks.number_of(mask);
      if (number == kNothing) continue;
      ++tiles[static_cast<size_t>(group)];
      list(keys_of_queries, group, tiles_of_queries_, tile).push_back({static_cast<int32_t>(keys), number});
      list(queries_of_keys, group, tiles_of_keys_, keys).push_back({static_cast<int32_t>(tile), number});
    }
  }

  void add_tiles_of_distances(int64_t group, int64_t tile, const SeenRows& rows) {
    // Of the last query and the first key seen, and of the first query and the last key.
    const int64_t first_query = memory_ + tile * kScheduleTile;
    const int64_t farthest = first_query + rows.rows() - 1 - rows.first_word() * 64;
    const int64_t nearest = std::max<int64_t>(first_query - rows.last_word() * 64 - 63, 0);
    for (int64_t distances = nearest / kScheduleTile; distances <= farthest / kScheduleTile; ++distances) {
      Mask mask{};
      for (int64_t row = 0; row < rows.rows(); ++row) {
        const int64_t farthest_key = memory_ + (tile - distances - 1) * kScheduleTile + row + 1;
        const uint64_t seen = rows.bits_from(row, farthest_key);
        mask[static_cast<size_t>(row)] = seen == 0 ? 0 : reversed(seen);
      }
      const int32_t number = masks.number_of(mask);
      if (number == kNothing) continue;
      list(queries_of_distances, group, tiles_of_keys_, distances).push_back({static_cast<int32_t>(tile), number});
      list(distances_of_queries, group, tiles_of_queries_, tile).push_back({static_cast<int32_t>(distances), number});
    }
  }

  int64_t queries_, memory_;
  bool ahead_;
  int64_t tiles_of_queries_, tiles_of_keys_;
};

// Appends them to the words, two to a word; returns where the first lies, counted in int32.
int64_t append(std::vector<int64_t>& words, const std::vector<int32_t>& values) {
  const auto first = static_cast<int64_t>(words.size()) * 2;
  words.resize(words.size() + (values.size() + 1) / 2);
  std::memcpy(words.data() + first / 2, values.data(), values.size() * sizeof(int32_t));
  return first;
}

std::vector<int64_t> counted_from_zero(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TileSchedule::TileSchedule(int64_t queries, int64_t memory, int64_t groups, const SeenKeys& seen_keys, bool ahead)
    : TileSchedule(queries, memory, counted_from_zero(groups), seen_keys, ahead) {}

TileSchedule::TileSchedule(int64_t queries, int64_t memory, const std::vector<int64_t>& first_alike,
                           const SeenKeys& seen_keys, bool ahead)
    : groups_(std::ssize(first_alike)) {
  Builder builder(queries, memory, groups_, ahead);
  for (int64_t group = 0; group < groups_; ++group) {
    const int64_t first = first_alike[static_cast<size_t>(group)];
    if (first == group) builder.add_group(group, seen_keys);
    pairs_ += builder.pairs[static_cast<size_t>(first)];
    tiles_ += builder.tiles[static_cast<size_t>(first)];
  }
  masks_ = static_cast<int64_t>(builder.masks.rows().size()) / kScheduleTile;
  words_.assign(builder.masks.rows().begin(), builder.masks.rows().end());
  const auto place = [&](const GrowingLists& lists) {
    const size_t of_group = lists.size() / first_alike.size();
    std::vector<int32_t> starts, entries;
    for (size_t group = 0; group < first_alike.size(); ++group) {
      const auto first = static_cast<size_t>(first_alike[group]);
      if (first < group) {
        for (size_t tile = 0; tile <= of_group; ++tile) starts.push_back(starts[first * (of_group + 1) + tile]);
        continue;
      }
      starts.push_back(static_cast<int32_t>(entries.size() / 2));
      for (size_t tile = 0; tile < of_group; ++tile) {
        for (const Entry& entry : lists[group * of_group + tile])
          entries.insert(entries.end(), entry.begin(), entry.end());
        starts.push_back(static_cast<int32_t>(entries.size() / 2));
      }
    }
    return Place{.starts = append(words_, starts),
                 .tiles = static_cast<int64_t>(of_group),
                 .entries = append(words_, entries),
                 .count = static_cast<int64_t>(entries.size() / 2)};
  };
  keys_of_queries_ = place(builder.keys_of_queries);
  queries_of_keys_ = place(builder.queries_of_keys);
  queries_of_distances_ = place(builder.queries_of_distances);
  distances_of_queries_ = place(builder.distances_of_queries);
}

VisibleTiles TileSchedule::tiles_at(const int64_t* words) const {
  const auto* halves = reinterpret_cast<const int32_t*>(words);
  const auto lists = [&](const Place& place) {
    return TileLists{.starts = view_of(halves + place.starts, {groups_, place.tiles + 1}),
                     .entries = view_of(halves + place.entries, {place.count, 2})};
  };
  return {.groups = groups_,
          .keys_of_queries = lists(keys_of_queries_),
          .queries_of_keys = lists(queries_of_keys_),
          .queries_of_distances = lists(queries_of_distances_),
          .distances_of_queries = lists(distances_of_queries_),
          .masks = view_of(words, {masks_, kScheduleTile})};
}

}  // namespace segue::kernels
