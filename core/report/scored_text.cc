#include "core/report/scored_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "base/text.h"

namespace segue::report {

namespace {

// Segments and blocks leave out a few tokens at their ends; --max-tokens leaves out most.
constexpr double kTolerance = 0.05;

bool are_close(int64_t a, int64_t b, int64_t of) {
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= kTolerance * static_cast<double>(of);
}

bool are_as_many(int64_t a, int64_t b) { return are_close(a, b, std::max(a, b)); }

// Identities of two kinds, by tokens and in files of older versions by shards, say nothing about each other.
bool are_of_one_kind(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a.substr(0, a.find(':')) == b.substr(0, b.find(':'));
}

bool are_one_place(const std::optional<SourcePlace>& a, const std::optional<SourcePlace>& b) {
  if (!a || !b || a->sources != b->sources || !are_as_many(a->bytes, b->bytes)) return false;
  return are_close(a->begin, b->begin, a->bytes);
}

std::string name_of(const ScoredText& text) { return fmt::format("{} of {}", text.split, text.path); }

// Adds what `detail` says to the names that are not the only ones of their kind.
void tell_apart(std::vector<TextGroup>& groups, const std::function<std::string(const TextGroup&)>& detail) {
  std::multiset<std::string> names;
  for (const TextGroup& group : groups) names.insert(group.name);
  for (TextGroup& group : groups)
    if (names.count(group.name) > 1) group.name += detail(group);
}

}  // namespace

bool are_same(const ScoredText& a, const ScoredText& b, bool per_byte) {
  if (!per_byte && !a.unit.empty() && !b.unit.empty() && a.unit != b.unit) return false;
  if (per_byte && a.split == b.split && are_one_place(a.place, b.place)) return true;
  if (!are_as_many(a.count, b.count)) return false;
  if (are_of_one_kind(a.tokens, b.tokens)) return a.tokens == b.tokens;
  if (a.split != b.split) return false;
  if (are_of_one_kind(a.trained_on, b.trained_on)) return a.trained_on == b.trained_on;
  return a.path == b.path;
}

ScoredText training_text(const RunData& run) {
  return {.tokens = run.trained_on,
          .trained_on = run.trained_on,
          .path = run.config.data.path,
          .split = run.config.data.train_split,
          .unit = run.metrics.unit};
}

ScoredText judged_text(const RunData& run) {
  const Metrics& metrics = run.metrics;
  if (metrics.validation.empty()) return training_text(run);
  const int64_t most = run.config.evaluation.max_tokens;
  return {.tokens = metrics.dataset,
          .trained_on = run.trained_on,
          .path = run.config.data.path,
          .split = metrics.validation.back().split,
          .count = metrics.evaluated_tokens,
          .unit = metrics.unit,
          .place = most == 0 ? metrics.text : std::nullopt};
}

ScoredText text_of(const RunData& run, const Evaluation& evaluation) {
  ScoredText text{.tokens = evaluation.dataset,
                  .path = evaluation.data,
                  .split = evaluation.split,
                  .unit = evaluation.unit,
                  .place = evaluation.text};
  if (evaluation.data == run.config.data.path) text.trained_on = run.trained_on;
  if (evaluation.results.empty()) return text;
  text.count = evaluation.results.front().tokens;
  const int64_t bytes = evaluation.results.front().bytes;  // of what was scored
  if (bytes == 0) text.place.reset();
  if (text.place) text.place->bytes = bytes;
  return text;
}

std::vector<TextGroup> group_by_text(const std::vector<ScoredText>& texts, bool per_byte) {
  std::vector<TextGroup> groups;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto same = std::ranges::find_if(
        groups, [&](const TextGroup& group) { return are_same(texts[group.members.front()], texts[i], per_byte); });
    if (same == groups.end()) {
      groups.push_back({.members = {i}, .name = name_of(texts[i])});
    } else {
      same->members.push_back(i);
    }
  }
  const auto first_of = [&](const TextGroup& group) -> const ScoredText& { return texts[group.members.front()]; };
  tell_apart(groups, [&](const TextGroup& group) {
    const std::string& unit = first_of(group).unit;
    return unit.empty() ? std::string() : fmt::format(", by {}", unit);
  });
  tell_apart(groups, [&](const TextGroup& group) {
    const int64_t count = first_of(group).count;
    return count > 0 ? fmt::format(", {} tokens", human_count(count)) : std::string();
  });
  tell_apart(groups, [&](const TextGroup& group) { return fmt::format(" ({})", first_of(group).tokens); });
  return groups;
}

std::string list_of(const std::vector<TextGroup>& groups, const std::function<std::string(size_t member)>& name_of) {
  std::string text;
  for (const TextGroup& group : groups) {
    std::vector<std::string> names;
    for (const size_t member : group.members) {
      const std::string name = name_of(member);
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", fmt::join(names, ", "), group.name);
  }
  return text;
}

void say_different(Page& page, const std::vector<TextGroup>& groups,
                   const std::function<std::string(size_t member)>& name_of) {
  if (groups.size() < 2) return;
  page.paragraph(fmt::format("Results on different texts do not compare, so each text has figures of its own: {}.",
                             list_of(groups, name_of)));
}

Figure figure_of_group(Figure figure, const std::vector<TextGroup>& groups, size_t group) {
  if (groups.size() < 2) return figure;
  const std::string on_text = fmt::format("On {}: ", groups[group].name);
  const auto name = [&](auto& chart) {
    if (group > 0) chart.name += fmt::format("-{}", group + 1);
    chart.title.insert(0, on_text);
  };
  for (Chart& chart : figure.charts) std::visit(name, chart);
  figure.caption.insert(0, on_text);
  return figure;
}

}  // namespace segue::report
