#include "core/config/visibility_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"
#include "core/config/layers.h"
#include "core/config/position_kind.h"
#include "core/config/position_terms.h"
#include "core/config/visibility_kind.h"

namespace segue {
namespace {

// How far back a visibility asks for keys, in tokens, and the words for what says so.
struct Farthest {
  int64_t distance = 0;
  std::string because = {};
};

Farthest farthest_of(const ModelConfig& model, int64_t layer, double window_share) {
  const VisibilityConfig& seen = visibility_of_layer(model, layer);
  const ModelUse use = use_of_layer(model, use_of(model), layer, window_share);
  const std::string key = visibility_key(model, layer);
  const std::string share = window_share < 1.0 ? fmt::format(" with a window_share of {}", window_share) : "";
  if (seen.kind == VisibilityKind::kWindow)
    return {use.window - 1, fmt::format(R"(one less than {}.window{}, with {}.kind = "window")", key, share, key)};
  if (seen.kind == VisibilityKind::kAdaptive)
    return {seen.span + seen.ramp - 1,
            fmt::format(R"(one less than {}.span + {}.ramp, with {}.kind = "adaptive")", key, key, key)};
  Farthest farthest;
  if (seen.kind != VisibilityKind::kSparse) return farthest;
  for (size_t i = 0; i < seen.patterns.size(); ++i) {
    const int64_t distance = use.patterns[i].farthest_distance(0).value_or(0);
    if (distance > farthest.distance)
      farthest = {distance, fmt::format("as far back as {}.patterns[{}] sees{}", key, i, share)};
  }
  return farthest;
}

// A pattern by itself; `key` leads to it.
void check_pattern(const PatternConfig& pattern, const std::string& key, std::string_view source) {
  const auto expect = [&](bool is_right, std::string_view name, const std::string& expected, int64_t found) {
    if (!is_right) throw ConfigError("{}: {}.{}: expected {}, found {}", source, key, name, expected, found);
  };
  const bool has_columns = pattern.kind == PatternKind::kFixed || pattern.kind == PatternKind::kGlobal;
  const int64_t from = pattern.kind == PatternKind::kFixed ? std::max<int64_t>(pattern.from, 0) : 0;
  expect(!has_columns || from < pattern.period, "from", fmt::format("less than period = {}", pattern.period), from);
  expect(!has_columns || from + pattern.columns <= pattern.period, "columns",
         fmt::format("at most {}, up to the end of period = {}", pattern.period - from, pattern.period),
         pattern.columns);
  if (pattern.kind != PatternKind::kRandom) return;
  expect(pattern.period % pattern.block == 0, "period", fmt::format("a multiple of block = {}", pattern.block),
         pattern.period);
  expect(pattern.nearest <= pattern.farthest, "nearest", fmt::format("at most farthest = {}", pattern.farthest),
         pattern.nearest);
  const int64_t candidates = pattern.farthest - pattern.nearest + 1;
  expect(pattern.count <= candidates, "count",
         fmt::format("at most {}, the number of blocks from nearest to farthest", candidates), pattern.count);
}

// Patterns that do something, and for every head some. `key` leads to the visibility.
void check_patterns(const ModelConfig& model, const VisibilityConfig& visibility, const std::string& key,
                    std::string_view source) {
  if (visibility.kind != VisibilityKind::kSparse) return;
  if (visibility.patterns.empty())
    throw ConfigError(R"({}: {}.patterns: expected at least one pattern with {}.kind = "sparse", found an empty list)",
                      source, key, key);
  std::vector<bool> has_pattern(static_cast<size_t>(model.n_head));
  for (size_t i = 0; i < visibility.patterns.size(); ++i) {
    const PatternConfig& pattern = visibility.patterns[i];
    const std::string of = fmt::format("{}.patterns[{}]", key, i);
    check_kinds<ConfigError>(pattern, source, of);
    check_pattern(pattern, of, source);
    if (pattern.heads.empty()) has_pattern.assign(has_pattern.size(), true);
    for (const int64_t head : pattern.heads) {
      if (head >= model.n_head)
        throw ConfigError("{}: {}.heads: expected heads below model.n_head = {}, found {}", source, of, model.n_head,
                          head);
      if (std::ranges::count(pattern.heads, head) > 1)
        throw ConfigError("{}: {}.heads: expected each head once, found {} twice or more", source, of, head);
      has_pattern[static_cast<size_t>(head)] = true;
    }
  }
  const auto without = std::ranges::find(has_pattern, false);
  if (without != has_pattern.end())
    throw ConfigError(
        "{}: {}.patterns: expected at least one pattern for each of the model.n_head = {} heads, found none for head "
        "{}",
        source, key, model.n_head, without - has_pattern.begin());
}

}  // namespace

void check_same_length(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const ModelUse here = use_of_layer(model, lengths.use, layer);
    if (here.same_length && !here.same_length_extra_key && here.mem_len == 0)
      throw ConfigError(
          "{}: {}: expected at least 1 with {}.same_length = true and same_length_extra_key = false, found 0; a query "
          "would see no key",
          source, lengths.mem_len_key, visibility_key(model, layer));
  }
}

void check_window_share(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  const double window_share = lengths.window_share;
  if (window_share == 1.0) return;
  const ModelUse use = use_of(model);
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    if (use_of_layer(model, use, layer, window_share) != use_of_layer(model, use, layer)) return;
  throw ConfigError(
      R"({}: {}: expected 1, found {}; it makes no window smaller. It changes those of visibility.kind = "window" and )"
      R"(of patterns of kind "window" or "dilated")",
      source, lengths.window_share_key, window_share);
}

void check_window(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  if (model.objective.is_masked()) return;
  Farthest farthest;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const Farthest of_layer = farthest_of(model, layer, lengths.window_share);
    if (of_layer.distance > farthest.distance) farthest = of_layer;
  }
  if (lengths.use.mem_len >= farthest.distance) return;
  throw ConfigError(
      "{}: {}: expected at least {}, {}, found {}; otherwise early tokens of a segment see fewer keys than late ones",
      source, lengths.mem_len_key, farthest.distance, farthest.because, lengths.use.mem_len);
}

void check_all_patterns(const ModelConfig& model, std::string_view source) {
  check_patterns(model, model.visibility, "model.visibility", source);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].visibility) continue;
    check_patterns(model, *model.layers[i].visibility, fmt::format("model.layers[{}].visibility", i), source);
  }
}

void check_periods(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const VisibilityConfig& visibility = visibility_of_layer(model, layer);
    if (visibility.kind != VisibilityKind::kSparse) continue;
    for (size_t i = 0; i < visibility.patterns.size(); ++i) {
      const int64_t period = visibility.patterns[i].repeats_after();
      if (lengths.tgt_len % period != 0)
        throw ConfigError("{}: {}: expected a multiple of {}.patterns[{}].{} = {}, found {}", source,
                          lengths.tgt_len_key, visibility_key(model, layer), i, visibility.patterns[i].repeat_key(),
                          period, lengths.tgt_len);
    }
  }
}

void check_spans(const ModelConfig& model, std::string_view source) {
  constexpr PositionTerms kAccepted{.vectors = true, .turns = true, .biases = true};
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const PositionKind kind = position_of_layer(model, layer).kind;
    const std::string_view term = refused_term(offered_by(kind), kAccepted);
    if (visibility_of_layer(model, layer).kind == VisibilityKind::kAdaptive && !term.empty())
      throw ConfigError(R"({}: {}.kind: expected {} with {}.kind = "adaptive", found "{}", which needs {})", source,
                        position_key(model, layer), positions_within(kAccepted), visibility_key(model, layer),
                        name_of_choice(kind), term);
  }
}

}  // namespace segue
