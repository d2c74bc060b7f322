#include "core/model/reach.h"

#include <algorithm>

#include "core/attention/visibility.h"
#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/config/memory_row.h"

namespace segue {

namespace {

// The position of the oldest token that reaches a query, both counted from the first of the query's segment. A token
// sees the global stream of its segment, if there is one, and that sees all of its memory in the layer below.
int64_t oldest_in_reach(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, int64_t query) {
  if (row_of(model.memory.kind).is_seen_whole) return -use.mem_len;
  int64_t oldest = query;
  std::optional<int64_t> streams_back;  // segments back, of the oldest global stream that reaches the query
  for (int64_t layer = model.n_layer - 1; layer >= 0; --layer) {
    const int64_t segments_back = (tgt_len - 1 - oldest) / tgt_len;
    const auto oldest_key = [&](int64_t back) { return -back * tgt_len - use.remembered_tokens(); };
    // Segments begin where periods do.
    const int64_t seen = keys_in_reach(use_of_layer(model, use, layer), oldest + segments_back * tgt_len);
    oldest = seen > 0 ? std::max(oldest_key(segments_back), oldest - seen + 1) : oldest_key(segments_back);
    if (streams_back) oldest = std::min(oldest, oldest_key(*streams_back));
    if (use.global_tokens > 0) streams_back = segments_back;
  }
  return oldest;
}

// Whether what a token writes may be read however much later.
bool is_without_limit(const ModelConfig& model) {
  return !row_of(model.memory.kind).without_limit(model.memory).empty() || hands_on_states(model);
}

}  // namespace

std::optional<int64_t> reach_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len) {
  if (is_without_limit(model)) return std::nullopt;
  return tgt_len - 1 - oldest_in_reach(model, use, tgt_len, tgt_len - 1);
}

std::optional<int64_t> warm_up_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len) {
  if (is_without_limit(model) || tgt_len % use.compression_rate != 0) return std::nullopt;
  const int64_t before = -oldest_in_reach(model, use, tgt_len, 0);
  return (before + tgt_len - 1) / tgt_len * tgt_len;
}

}  // namespace segue
