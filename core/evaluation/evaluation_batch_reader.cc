#include "core/evaluation/evaluation_batch_reader.h"

#include <algorithm>
#include <utility>

namespace segue {

namespace {

// As many tokens as a chunk of a shard, or a segment when that is longer.
constexpr int64_t kWindowTokens = 32768;

}  // namespace

EvaluationBatchReader::EvaluationBatchReader(TokenSource source, int64_t lanes, int64_t tgt_len,
                                             std::optional<Masking> masking, int64_t global_tokens)
    : source_(std::move(source)),
      masking_(masking),
      global_tokens_(global_tokens),
      tokens_(DType::kInt32, {lanes, tgt_len}),
      targets_(DType::kInt32, {lanes, tgt_len}),
      bytes_(DType::kInt32, {source_.has_bytes() ? lanes : 0, tgt_len}),
      ahead_(DType::kInt32, {masking ? lanes : 0, global_tokens + tgt_len}) {}

void EvaluationBatchReader::enter(std::span<const Lane> lanes) {
  lanes_.assign(lanes.begin(), lanes.end());
  windows_.clear();
  const int64_t capacity = std::max(kWindowTokens, tokens_.shape()[1] + 1);
  for (const Lane& lane : lanes_) windows_.emplace_back(lane.begin, lane.end + 1, capacity);
}

EvaluationBatchReader::Rows EvaluationBatchReader::read(int64_t row, int64_t length, int64_t scored) {
  auto* tokens = tokens_.as<int32_t>();
  auto* targets = targets_.as<int32_t>();
  auto* bytes = bytes_.as<int32_t>();
  auto* ahead = ahead_.as<int32_t>();
  const int64_t unscored = length - scored;
  for (size_t i = 0; i < lanes_.size(); ++i, tokens += length, targets += scored) {
    const int64_t count = std::clamp<int64_t>(lanes_[i].rows() - row, 0, length);
    std::fill(tokens + count, tokens + length, 0);
    std::fill(targets, targets + scored, 0);
    if (masking_) {
      for (int64_t place = -global_tokens_; place < length; ++place)
        *ahead++ = static_cast<int32_t>(std::max<int64_t>(count - 1 - place, 0));
    }
    if (count == 0) continue;
    const TokenRows rows = windows_[i].read(source_, row, count + 1);
    for (int64_t place = 0; place < count; ++place) {
      const auto next = static_cast<size_t>(place + 1);
      const int64_t offset = lanes_[i].begin + row + place + 1;
      const MaskedToken read = masking_ ? masked(*masking_, 0, offset, rows.tokens[next])
                                        : MaskedToken{.token = rows.tokens[next - 1], .target = rows.target(next)};
      tokens[place] = read.token;
      if (place >= unscored) targets[place - unscored] = read.target;
    }
    if (!rows.bytes.empty() && count > unscored)
      std::ranges::copy(rows.bytes.subspan(static_cast<size_t>(unscored) + 1),
                        bytes + static_cast<int64_t>(i) * scored);
  }
  const auto view = [&](OwnedTensor& tensor, int64_t columns) {
    return ConstTensorView{tensor.view().data, DType::kInt32, {std::ssize(lanes_), columns}};
  };
  return {.tokens = view(tokens_, length),
          .targets = view(targets_, scored),
          .bytes = {bytes_.view().data, DType::kInt32, {source_.has_bytes() ? std::ssize(lanes_) : 0, scored}},
          .ahead = masking_ ? view(ahead_, global_tokens_ + length) : ConstTensorView()};
}

}  // namespace segue
