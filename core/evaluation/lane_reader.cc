// One window over the split for each lane.
#include "core/evaluation/lane_reader.h"

#include <algorithm>
#include <utility>

namespace segue {

namespace {

// As many tokens as a chunk of a shard, or a segment when that is longer.
constexpr int64_t kWindowTokens = 32768;

}  // namespace

LaneReader::LaneReader(TokenSource source, int64_t lanes, int64_t tgt_len)
    : source_(std::move(source)), tokens_(DType::kInt32, {lanes, tgt_len}), targets_(DType::kInt32, {lanes, tgt_len}) {}

void LaneReader::enter(std::span<const Lane> lanes) {
  lanes_.assign(lanes.begin(), lanes.end());
  windows_.clear();
  const int64_t capacity = std::max(kWindowTokens, tokens_.shape()[1] + 1);
  for (const Lane& lane : lanes_) windows_.emplace_back(lane.begin, lane.end + 1, capacity);
}

LaneReader::Rows LaneReader::read(int64_t row, int64_t length) {
  auto* tokens = tokens_.as<int32_t>();
  auto* targets = targets_.as<int32_t>();
  for (size_t i = 0; i < lanes_.size(); ++i, tokens += length, targets += length) {
    const int64_t count = std::clamp<int64_t>(lanes_[i].rows() - row, 0, length);
    if (count > 0) {
      const std::span<const int32_t> rows = windows_[i].read(source_, row, count + 1);
      std::copy(rows.begin(), rows.end() - 1, tokens);
      std::copy(rows.begin() + 1, rows.end(), targets);
    }
    std::fill(tokens + count, tokens + length, 0);
    std::fill(targets + count, targets + length, 0);
  }
  const Shape shape{std::ssize(lanes_), length};
  return {.tokens = {tokens_.view().data, DType::kInt32, shape},
          .targets = {targets_.view().data, DType::kInt32, shape}};
}

}  // namespace segue
