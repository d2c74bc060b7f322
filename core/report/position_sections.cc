// Loss by position in the segment, and by the context available.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "core/drawing/curves.h"
#include "core/drawing/numbers.h"
#include "core/report/commands.h"
#include "core/report/scored_text.h"
#include "core/report/sections.h"
#include "core/report/units.h"

namespace segue::report {

namespace {

constexpr size_t kMostTitledPoints = 150;
constexpr size_t kMostPositionRows = 256;

// One line: a result of an evaluation, with its parts.
struct PlacedResult {
  const RunData* run = nullptr;
  const Evaluation* evaluation = nullptr;
  int64_t colour = 0;
  bool is_memoryless_beside_memory = false;
  const EvaluatedLength* result = nullptr;
  std::string name;
};

using PartsOf = std::vector<LossOfPart> EvaluatedLength::*;

// Picks two of the results with memory lengths that have such parts: without memory, and the one nearest to training.
std::vector<const EvaluatedLength*> ends_of(const Evaluation& evaluation, PartsOf parts) {
  const EvaluatedLength* without = nullptr;
  const EvaluatedLength* nearest = nullptr;
  for (const EvaluatedLength& result : evaluation.results) {
    if (result.is_recomputed || (result.*parts).empty()) continue;
    if (result.mem_len == 0 && without == nullptr) without = &result;
    const auto distance = [&](const EvaluatedLength& of) { return std::abs(of.mem_len - evaluation.trained_mem_len); };
    if (nearest == nullptr || distance(result) < distance(*nearest)) nearest = &result;
  }
  std::vector<const EvaluatedLength*> ends;
  if (nearest != nullptr) ends.push_back(nearest);
  if (without != nullptr && without != nearest) ends.push_back(without);
  return ends;
}

const EvaluatedLength* longest_of(const Evaluation& evaluation, PartsOf parts) {
  const EvaluatedLength* longest = nullptr;
  for (const EvaluatedLength& result : evaluation.results) {
    if (result.is_recomputed || (result.*parts).empty()) continue;
    if (longest == nullptr || result.mem_len > longest->mem_len) longest = &result;
  }
  return longest;
}

// Evaluations of a run that have such parts; only where there are several do names need theirs.
bool has_several(const RunData& run, PartsOf parts) {
  return std::count_if(run.evaluations.begin(), run.evaluations.end(),
                       [&](const Evaluation& evaluation) { return longest_of(evaluation, parts) != nullptr; }) > 1;
}

std::string name_of(const RunData& run, const Evaluation& evaluation, const EvaluatedLength& result, PartsOf parts) {
  const std::string which = has_several(run, parts) ? ", " + evaluation.name : "";
  return fmt::format("{}{}, memory {}", run.name, which, human_count(result.mem_len));
}

std::vector<PlacedResult> by_position_results(const ReportData& data) {
  std::vector<PlacedResult> results;
  for (size_t i = 0; i < data.runs.size(); ++i) {
    const RunData& run = data.runs[i];
    for (const Evaluation& evaluation : run.evaluations) {
      const std::vector<const EvaluatedLength*> ends = ends_of(evaluation, &EvaluatedLength::by_position);
      for (size_t end = 0; end < ends.size(); ++end)
        results.push_back({&run, &evaluation, static_cast<int64_t>(i), end > 0, ends[end],
                           name_of(run, evaluation, *ends[end], &EvaluatedLength::by_position)});
    }
  }
  return results;
}

std::vector<PlacedResult> by_context_results(const ReportData& data) {
  std::vector<PlacedResult> results;
  for (size_t i = 0; i < data.runs.size(); ++i) {
    const RunData& run = data.runs[i];
    for (const Evaluation& evaluation : run.evaluations) {
      if (const EvaluatedLength* longest = longest_of(evaluation, &EvaluatedLength::by_context))
        results.push_back({&run, &evaluation, static_cast<int64_t>(i), false, longest,
                           name_of(run, evaluation, *longest, &EvaluatedLength::by_context)});
    }
  }
  return results;
}

double middle_of(const LossOfPart& part) { return 0.5 * static_cast<double>(part.from + part.to); }

std::string position_text(const LossOfPart& part) {
  return part.from == part.to ? human_count(part.from) : human_count(part.from) + "\xE2\x80\x93" + human_count(part.to);
}

Series series_of(const PlacedResult& placed, const std::vector<LossOfPart>& list, std::string_view what,
                 const LossUnit& unit) {
  Series series{.name = placed.name,
                .colour = placed.colour,
                .style = placed.is_memoryless_beside_memory ? LineStyle::kDashed : LineStyle::kSolid,
                .points = {}};
  for (const LossOfPart& part : list) {
    const double scale = unit.scale(part.tokens, part.bytes, placed.result->loss, placed.result->bits_per_byte);
    Point point{
        .x = middle_of(part), .y = scale * part.loss, .spread = unit.spread(part.confidence95, part.bits95, scale)};
    if (list.size() <= kMostTitledPoints)
      point.title = fmt::format("{}\n{} {}\n{}", placed.name, what, position_text(part), unit.text(point.y));
    series.points.push_back(std::move(point));
  }
  return series;
}

Table table_of(const std::vector<PlacedResult>& results, PartsOf parts, std::string_view what) {
  Table table{.head = {std::string(what), "result", "tokens", "loss, nats/token", "\xC2\xB1 95 %"}, .rows = {}};
  for (const PlacedResult& placed : results) {
    const std::vector<LossOfPart>& list = placed.result->*parts;
    for (const size_t i : even_choice(list.size(), kMostPositionRows))
      table.rows.push_back({position_text(list[i]), placed.name, human_count(list[i].tokens), fixed(list[i].loss, 5),
                            fixed(list[i].confidence95, 5)});
  }
  return table;
}

// Describes the first line: what the first tokens of a segment cost more than its later half.
std::string position_caption(const std::vector<PlacedResult>& results, const LossUnit& unit) {
  std::string text = "Loss by the position of a token in its segment, later positions in groups, with 95 % confidence.";
  const auto torn =
      std::find_if(results.begin(), results.end(), [](const auto& placed) { return placed.result->mem_len == 0; });
  if (torn == results.end()) return text;
  const std::vector<LossOfPart>& list = torn->result->by_position;
  const auto value_of = [&](const LossOfPart& part) {
    return part.loss * unit.scale(part.tokens, part.bytes, torn->result->loss, torn->result->bits_per_byte);
  };
  LossOfPart late;
  for (size_t i = list.size() / 2; i < list.size(); ++i) {
    late.loss += list[i].loss * static_cast<double>(list[i].tokens);
    late.tokens += list[i].tokens;
    late.bytes += list[i].bytes;
  }
  if (late.tokens == 0) return text;
  late.loss /= static_cast<double>(late.tokens);
  return fmt::format(
      "{} Without memory every segment starts from nothing: {} at its first token, {} over its later half ({}).", text,
      fixed(value_of(list.front()), 2), unit.text(value_of(late)), torn->name);
}

Plot plot_of(const std::vector<PlacedResult>& results, PartsOf parts, IsEnough is_enough, std::string_view what,
             const LossUnit& unit) {
  Plot plot{.x_scale = ScaleKind::kLogFromZero, .series = {}};
  plot.y_label = unit.name();
  for (const PlacedResult& placed : results)
    plot.series.push_back(series_of(placed, joined(placed.result->*parts, is_enough), what, unit));
  return plot;
}

// Whether it shows more than a few points whose bands hold one another.
bool tells_something(const Plot& plot) {
  constexpr int64_t kFew = 8;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  double widest = 0.0;
  int64_t most = 0;
  for (const Series& series : plot.series) {
    most = std::max(most, std::ssize(series.points));
    for (const Point& point : series.points) {
      lowest = std::min(lowest, point.y);
      highest = std::max(highest, point.y);
      widest = std::max(widest, 2.0 * point.spread);
    }
  }
  return most > kFew || highest - lowest > widest;
}

// A figure of one plot.
void add_figure(Page& page, const Figure& figure) {
  const Plot& plot = std::get<Plot>(figure.charts.front());
  if (tells_something(plot)) return page.figure(figure);
  page.paragraph(
      fmt::format("{}: not drawn, since the bands of its few points are wider than all differences between the points. "
                  "More text, or more streams of it (--batch-size), makes them narrower.",
                  plot.title));
  page.details("The numbers", table_html(figure.table));
}

Figure by_position_figure(const std::vector<PlacedResult>& results, const LossUnit& unit) {
  Plot plot = plot_of(results, &EvaluatedLength::by_position, is_wide_for_its_place, "position", unit);
  plot.name = "loss-by-position";
  plot.title = "Loss by position in the segment";
  plot.x_label = "position in the segment";
  return {.charts = {plot},
          .caption = position_caption(results, unit),
          .table = table_of(results, &EvaluatedLength::by_position, "position")};
}

Figure by_context_figure(const std::vector<PlacedResult>& results, const LossUnit& unit) {
  Plot plot = plot_of(results, &EvaluatedLength::by_context, has_many_tokens, "context", unit);
  plot.name = "loss-by-available-context";
  plot.title = "Loss by available context";
  plot.x_label = "tokens before it that a token could attend to";
  for (Series& series : plot.series) series.has_markers = true;
  return {.charts = {plot},
          .caption =
              "Loss by the number of tokens to attend to, while the memory filled and along each segment, with 95 % "
              "confidence. Neighbours are joined until they have 512 tokens.",
          .table = table_of(results, &EvaluatedLength::by_context, "context")};
}

}  // namespace

void add_loss_by_position(Page& page, const ReportData& data) {
  page.section("positions", "Loss by position and by available context");
  const LossUnit unit = unit_of_evaluations(data.runs);
  const std::vector<PlacedResult> positions = by_position_results(data);
  if (positions.empty())
    return page.missing("No evaluation tells the loss by position yet; make one with",
                        evaluation_command(data.runs.front(), "--name positions"));
  const std::vector<TextGroup> groups = groups_of(positions, unit.per_byte());
  say_different(page, groups, [&](size_t i) { return positions[i].name; });
  for (size_t g = 0; g < groups.size(); ++g)
    add_figure(page, figure_of_group(by_position_figure(members_of(groups[g], positions), unit), groups, g));
  const std::vector<PlacedResult> contexts = by_context_results(data);
  const std::vector<TextGroup> context_groups = groups_of(contexts, unit.per_byte());
  for (size_t g = 0; g < context_groups.size(); ++g)
    add_figure(page,
               figure_of_group(by_context_figure(members_of(context_groups[g], contexts), unit), context_groups, g));
}

}  // namespace segue::report
