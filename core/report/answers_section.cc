// Right answers of marked data: along the way, of every result, where they are hard, and the hardest examples.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/drawing/curves.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/report/answer_drawings.h"
#include "core/report/commands.h"
#include "core/report/scored_text.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

constexpr int64_t kMostCurvePoints = 700;  // of a line
constexpr size_t kMostLines = 14;          // of a plot: each colour twice
constexpr size_t kMostGrids = 4;

struct AnsweredResult {
  const RunData* run = nullptr;
  const Evaluation* evaluation = nullptr;
  const EvaluatedLength* result = nullptr;
  std::string name = {};
  const Answers& answers() const { return *result->answers; }
};

bool has_answers(const EvaluatedLength& result) { return result.answers.has_value(); }

// Names tell apart what differs, and no more.
std::vector<AnsweredResult> answered_results(const std::vector<RunData>& runs) {
  std::vector<AnsweredResult> found;
  for (const RunData& run : runs) {
    for (const Evaluation& evaluation : run.evaluations) {
      const auto count = std::ranges::count_if(evaluation.results, has_answers);
      for (const EvaluatedLength& result : evaluation.results) {
        if (!result.answers) continue;
        std::string name = run.name;
        if (run.evaluations.size() > 1) name += ", " + evaluation.name;
        if (count > 1) name += fmt::format(", memory {}, segment {}", result.mem_len, result.tgt_len);
        found.push_back({&run, &evaluation, &result, name});
      }
    }
  }
  return found;
}

Series curve_of(const std::vector<Point>& points, const std::string& name, size_t colour, LineStyle style) {
  return {.name = name,
          .colour = static_cast<int64_t>(colour),
          .style = style,
          .has_markers = style != LineStyle::kBehind,
          .points = thinned(points, kMostCurvePoints, ScaleKind::kLinear)};
}

void add_curves(Plot& plot, const RunData& run, size_t colour) {
  std::vector<Point> training;
  std::vector<Point> validation;
  for (const TrainingPoint& point : run.metrics.training)
    if (point.accuracy) training.push_back({.x = static_cast<double>(point.tokens), .y = kPercent * *point.accuracy});
  for (const ValidationPoint& point : run.metrics.validation)
    if (point.accuracy) validation.push_back({.x = static_cast<double>(point.tokens), .y = kPercent * *point.accuracy});
  plot.series.push_back(curve_of(training, validation.empty() ? run.name : "", colour, LineStyle::kBehind));
  plot.series.push_back(curve_of(validation, run.name, colour, LineStyle::kSolid));
}

Table table_of(const std::vector<AnsweredResult>& results) {
  Table table{.head = {"results of", "split", "memory", "segment", "answers", "accuracy"}, .rows = {}};
  for (const AnsweredResult& of : results)
    table.rows.push_back({of.run->name + ", " + of.evaluation->name, of.evaluation->split,
                          human_count(of.result->mem_len), human_count(of.result->tgt_len),
                          human_count(of.answers().total.answers), share_text(of.answers().total)});
  return table;
}

// All that some result's examples are told apart by.
std::vector<ExampleKey> keys_of(const std::vector<AnsweredResult>& results) {
  std::vector<ExampleKey> keys;
  for (const AnsweredResult& of : results) {
    for (const ExampleKey& key : varying_keys(of.answers()))
      if (std::ranges::count(keys, key.trait, &ExampleKey::trait) == 0) keys.push_back(key);
  }
  return keys;
}

std::vector<AnswerLine> lines_of(const std::vector<AnsweredResult>& results, const SharesOf& shares_of) {
  std::vector<AnswerLine> lines;
  for (size_t i = 0; i < std::min(results.size(), kMostLines); ++i)
    lines.push_back({results[i].name, static_cast<int64_t>(i), shares_of(results[i].answers())});
  return lines;
}

Figure plots_figure(const std::vector<AnsweredResult>& results) {
  const std::optional<int64_t>& longest = results.front().answers().longest_trained;
  const auto is_trained_alike = [&](const AnsweredResult& of) { return of.answers().longest_trained == longest; };
  const auto lines = [&](const SharesOf& shares_of) { return lines_of(results, shares_of); };
  Figure figure{.charts = {},
                .caption =
                    "The share of right answers by what the examples ask for, with 95 % intervals of the text "
                    "(one that covers the whole axis is not drawn).",
                .table = {}};
  const bool are_alike = std::ranges::all_of(results, is_trained_alike);
  for (AnswerPlot& of : answer_plots(keys_of(results), lines, are_alike ? longest : std::nullopt))
    figure.charts.emplace_back(std::move(of.plot));
  return figure;
}

void add_grids(Page& page, const std::vector<AnsweredResult>& results) {
  std::vector<HeatTable> grids;
  for (const AnsweredResult& of : results) {
    for (const ExampleKey& key : varying_keys(of.answers())) {
      std::optional<HeatTable> grid = key.trait.empty() ? std::nullopt : grid_of(of.answers(), key.trait);
      if (!grid || grids.size() == kMostGrids) continue;
      grid->title = results.size() > 1 ? of.name : "";
      grids.push_back(std::move(*grid));
    }
  }
  if (grids.empty()) return;
  page.figure({.html = grids_html(grids),
               .caption =
                   "Right answers by two properties of the examples at once; the stronger the colour, the more are "
                   "right."});
}

std::string token_html(const HardExample& hard, size_t i) {
  const std::string text = hard.texts.empty() ? fmt::format("{}", hard.tokens[i]) : escaped(hard.texts[i]);
  const size_t last = hard.tokens.size() - 1;
  const bool decides = hard.distance > 0 && i + static_cast<size_t>(hard.distance) == last;
  const char* const shade = i == last ? "h6" : decides ? "q5" : "";
  return (*shade == '\0' ? text : fmt::format("<span class=\"{}\">{}</span>", shade, text)) +
         (hard.texts.empty() ? " " : "");
}

std::string hard_html(const HardExample& hard) {
  std::string what = fmt::format("Example {}: {} of {} answers right. ", human_count(hard.example),
                                 human_count(hard.right), human_count(hard.answers));
  what += hard.right + 1 == hard.answers ? "The wrong one" : "The first wrong one";
  what += fmt::format(" is token {} of it", human_count(hard.first_wrong - hard.begin));
  if (hard.distance > 0) what += fmt::format("; what decides it stands {} tokens back", human_count(hard.distance));
  std::string html = "<p>" + what + ".</p>\n<div class=\"shaded\">";
  for (size_t i = 0; i < hard.tokens.size(); ++i) html += token_html(hard, i);
  return html + "</div>\n";
}

// Of the first result with the lengths of training, or else of the first; of those that have one.
void add_hardest(Page& page, const std::vector<AnsweredResult>& results) {
  const auto has_hardest = [](const AnsweredResult& of) { return !of.answers().hardest.empty(); };
  const auto is_as_trained = [](const AnsweredResult& of) {
    return !of.result->is_recomputed && of.result->mem_len == of.evaluation->trained_mem_len &&
           of.result->tgt_len == of.evaluation->trained_tgt_len;
  };
  auto found =
      std::ranges::find_if(results, [&](const AnsweredResult& of) { return has_hardest(of) && is_as_trained(of); });
  if (found == results.end()) found = std::ranges::find_if(results, has_hardest);
  if (found == results.end()) return;
  std::string html;
  for (const HardExample& hard : found->answers().hardest) html += hard_html(hard);
  page.figure({.html = html,
               .caption = fmt::format(
                   "The hardest examples of {}, as {} answers them, up to where its first wrong answer "
                   "begins. Orange: what it should have been; blue, where it is near enough to be shown: what "
                   "decides it.",
                   found->evaluation->split, found->name)});
}

}  // namespace

namespace {

Plot accuracy_curves_of(const ReportData& data, const std::vector<size_t>& members) {
  Plot plot{.name = "accuracy-curves",
            .title = "Right targets over tokens trained on",
            .x_label = "tokens trained on",
            .y_label = "right targets (tokens), %",
            .y_range = Range{0.0, kPercent},
            .series = {}};
  for (const size_t i : members) add_curves(plot, data.runs[i], i);
  return plot;
}

}  // namespace

void add_accuracy_curves(Page& page, const ReportData& data) {
  std::vector<ScoredText> texts;
  for (const RunData& run : data.runs) texts.push_back(judged_text(run));
  const std::vector<TextGroup> groups = group_by_text(texts, false);
  for (size_t g = 0; g < groups.size(); ++g) {
    const Plot plot = accuracy_curves_of(data, groups[g].members);
    if (!has_points(plot)) continue;
    const Figure figure{
        .charts = {plot},
        .caption =
            "Scored targets that were the most likely tokens: solid of the validation data, thin of the "
            "training batches, where logged. An answer of several tokens is right less often.",
        .table = {}};
    page.figure(figure_of_group(figure, groups, g));
  }
}

void add_answers(Page& page, const ReportData& data) {
  const std::vector<AnsweredResult> results = answered_results(data.runs);
  const auto is_marked = [](const RunData& run) {
    const auto tells_accuracy = [](const ValidationPoint& point) { return point.accuracy.has_value(); };
    return !run.config.model.objective.is_masked() && std::ranges::any_of(run.metrics.validation, tells_accuracy);
  };
  if (results.empty() && std::ranges::none_of(data.runs, is_marked)) return;
  page.section("answers", "Right answers");
  if (results.empty())
    return page.missing(
        "No evaluation tells right answers yet; make one with",
        fmt::format("segue eval --checkpoint {} --name answers", shell_word(data.runs.front().path.string())));
  page.html(table_html(table_of(results)));
  const std::vector<TextGroup> groups = groups_of(results, false);
  say_different(page, groups, [&](size_t i) { return results[i].name; });
  for (size_t g = 0; g < groups.size(); ++g) {
    const Figure figure = plots_figure(members_of(groups[g], results));
    if (!figure.charts.empty()) page.figure(figure_of_group(figure, groups, g));
  }
  add_grids(page, results);
  add_hardest(page, results);
}

}  // namespace segue::report
