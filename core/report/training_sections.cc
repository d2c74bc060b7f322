// Learning curves, and the speed of training.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/drawing/curves.h"
#include "core/drawing/numbers.h"
#include "core/report/commands.h"
#include "core/report/scored_text.h"
#include "core/report/sections.h"
#include "core/report/units.h"

namespace segue::report {

namespace {

constexpr int64_t kMostPoints = 700;     // of a line: about one to a pixel
constexpr int64_t kMostTitles = 150;     // of a line: more would only grow the page
constexpr int64_t kMostMarkers = 40;     // of evaluations; more of them are a line
constexpr size_t kMostRows = 60;         // of a run in a table
constexpr double kFromLogarithm = 20.0;  // last over first: from here on the beginning would be a vertical line
constexpr double kLatePart = 0.4;        // of the tokens, which the second panel leaves out

using ValueOf = double (*)(const TrainingPoint&, const LossUnit&);

double loss_value(const TrainingPoint& point, const LossUnit& unit) { return unit.of(point.loss, point.bits_per_byte); }

double speed_value(const TrainingPoint& point, const LossUnit& /*unit*/) { return point.tokens_per_second; }

double tokens_of(const TrainingPoint& point) { return static_cast<double>(point.tokens); }

double minutes_of(const TrainingPoint& point) { return point.seconds / 60.0; }

int64_t half_window(size_t count) { return static_cast<int64_t>(count) / 60; }

std::vector<Point> line_of(const RunData& run, const LossUnit& unit, ValueOf value, double (*x)(const TrainingPoint&)) {
  std::vector<Point> points;
  for (const TrainingPoint& point : run.metrics.training) points.push_back({.x = x(point), .y = value(point, unit)});
  return points;
}

std::string run_title(const RunData& run, const Point& point, std::string_view x_text, std::string_view unit) {
  return fmt::format("{}\n{}\n{} {}", run.name, x_text, significant(point.y), unit);
}

void add_titles(Series& series, const RunData& run, const LossUnit& unit) {
  if (std::ssize(series.points) > kMostTitles) return;
  for (Point& point : series.points) point.title = run_title(run, point, with_prefix(point.x) + " tokens", unit.name());
}

Series validation_of(const RunData& run, int64_t colour, const LossUnit& unit) {
  Series series{.name = "", .colour = colour, .style = LineStyle::kPoints, .has_markers = true, .points = {}};
  for (const ValidationPoint& validation : run.metrics.validation) {
    Point point{.x = static_cast<double>(validation.tokens), .y = unit.of(validation.loss, validation.bits_per_byte)};
    point.title =
        run_title(run, point, fmt::format("{} after {} tokens", validation.split, with_prefix(point.x)), unit.name());
    series.points.push_back(std::move(point));
  }
  if (std::ssize(series.points) > kMostMarkers) {
    series.style = LineStyle::kDashed;
    series.has_markers = false;
  }
  return series;
}

// Runs that are drawn in one plot.
struct DrawnRun {
  const RunData* run = nullptr;
  int64_t colour = 0;
};
using DrawnRuns = std::vector<DrawnRun>;

// Tokens that the runs' first and last points were logged after.
Range tokens_logged(const DrawnRuns& runs) {
  std::vector<double> tokens;
  for (const auto& [run, colour] : runs) {
    if (run->metrics.training.empty()) continue;
    tokens.push_back(tokens_of(run->metrics.training.front()));
    tokens.push_back(tokens_of(run->metrics.training.back()));
  }
  return range_of(tokens, ScaleKind::kLog);
}

void add_curves(Plot& plot, const RunData& run, int64_t colour, const LossUnit& unit, double from_tokens) {
  const std::vector<Point> points = line_of(run, unit, loss_value, tokens_of);
  const int64_t half = half_window(points.size());
  Series raw{.name = "", .colour = colour, .style = LineStyle::kBehind, .points = points};
  Series mean{.name = run.name, .colour = colour, .points = moving_mean(points, half)};
  Series validation = validation_of(run, colour, unit);
  for (Series* series : {&raw, &mean, &validation}) {
    std::erase_if(series->points, [&](const Point& point) { return point.x < from_tokens; });
    series->points = thinned(series->points, kMostPoints, plot.x_scale);
  }
  add_titles(mean, run, unit);
  if (half > 0) plot.series.push_back(std::move(raw));
  plot.series.push_back(std::move(mean));
  plot.series.push_back(std::move(validation));
}

Plot curves_of(const DrawnRuns& runs, const LossUnit& unit) {
  const Range tokens = tokens_logged(runs);
  Plot plot{.name = "learning-curves",
            .title = "Loss over tokens trained on",
            .x_label = "tokens trained on",
            .y_label = unit.name(),
            .x_scale = tokens.high / tokens.low >= kFromLogarithm ? ScaleKind::kLog : ScaleKind::kLinear,
            .series = {}};
  for (const auto& [run, colour] : runs) add_curves(plot, *run, colour, unit, 0.0);
  return plot;
}

// The later part alone, where the differences are.
Plot late_curves_of(const DrawnRuns& runs, const LossUnit& unit) {
  Plot plot{.name = "learning-curves-late",
            .title = "The later part of the same",
            .x_label = "tokens trained on",
            .y_label = unit.name(),
            .series = {}};
  for (const auto& [run, colour] : runs) add_curves(plot, *run, colour, unit, kLatePart * tokens_logged(runs).high);
  return plot;
}

Table table_of(const DrawnRuns& runs, const LossUnit& unit) {
  Table table{.head = {"run", "step", "tokens", "loss, nats/token", unit.per_byte() ? "bits/byte" : "", "learning rate",
                       "gradient norm", "tokens/s"},
              .rows = {}};
  if (!unit.per_byte()) table.head.erase(table.head.begin() + 4);
  for (const auto& [run, colour] : runs) {
    for (const size_t i : even_choice(run->metrics.training.size(), kMostRows)) {
      const TrainingPoint& point = run->metrics.training[i];
      table.rows.push_back({run->name, human_count(point.step), human_count(point.tokens), fixed(point.loss, 5)});
      std::vector<std::string>& row = table.rows.back();
      if (unit.per_byte()) row.push_back(fixed(loss_value(point, unit), 5));
      row.insert(row.end(), {significant(point.learning_rate, 3), significant(point.gradient_norm, 3),
                             significant(point.tokens_per_second, 4)});
    }
  }
  return table;
}

bool has_validation(const DrawnRun& drawn) { return !drawn.run->metrics.validation.empty(); }

bool is_smoothed(const DrawnRun& drawn) { return half_window(drawn.run->metrics.training.size()) > 0; }

bool is_begun(const DrawnRun& drawn) { return !drawn.run->metrics.training.empty(); }

// The run that ends lowest, of such as have learned from the same text.
std::string end_text(const DrawnRuns& runs, const LossUnit& unit) {
  const RunData* lowest = nullptr;
  std::vector<ScoredText> texts;
  for (const auto& [run, colour] : runs) {
    if (run->metrics.training.empty()) continue;
    texts.push_back(training_text(*run));
    const auto last = [&](const RunData& of) { return loss_value(of.metrics.training.back(), unit); };
    if (lowest == nullptr || last(*run) < last(*lowest)) lowest = run;
  }
  if (lowest == nullptr) return "";
  if (group_by_text(texts, unit.per_byte()).size() > 1)
    return " They learn from different texts: compare what they reach on the text that none was trained on.";
  return fmt::format(" {} ends {}at {}.", lowest->name, texts.size() == 1 ? "" : "lowest, ",
                     unit.text(loss_value(lowest->metrics.training.back(), unit)));
}

// Where runs read text that none was trained on with memories of their own: a model that is trained without a memory at
// first may already be judged with one.
std::string validated_with(const DrawnRuns& runs) {
  std::vector<std::string> said;
  std::set<int64_t> lengths;
  for (const auto& [run, colour] : runs) {
    if (run->metrics.validation.empty()) continue;
    const int64_t length = evaluation_mem_len(run->config);
    lengths.insert(length);
    said.push_back(fmt::format("{} has a memory of {}", run->name, human_count(length)));
  }
  return lengths.size() < 2 ? "" : fmt::format(" There {}.", fmt::join(said, ", "));
}

std::string caption_of(const DrawnRuns& runs, const LossUnit& unit, bool has_late_part) {
  std::string text = runs.size() == 1 ? "Loss of every logged stretch of training" : "Loss in training";
  if (std::ranges::any_of(runs, is_smoothed)) text += ", a moving mean before the values as logged";
  if (std::ranges::any_of(runs, has_validation)) text += "; marks or dashes: on text not trained on";
  text += '.' + validated_with(runs);
  if (has_late_part) text += " First all of it, then the later part by itself.";
  return text + end_text(runs, unit);
}

std::string note_of(const DrawnRuns& runs) {
  for (const auto& [run, colour] : runs) {
    if (run->metrics.training.size() > kMostRows)
      return fmt::format("{} lines of each run, evenly apart; all are in metrics.jsonl.", kMostRows);
  }
  return "";
}

DrawnRuns all_of(const ReportData& data) {
  DrawnRuns runs;
  for (const RunData& run : data.runs) runs.push_back({&run, static_cast<int64_t>(runs.size())});
  return runs;
}

Figure curves_figure(const DrawnRuns& runs, const LossUnit& unit) {
  Figure figure{
      .charts = {curves_of(runs, unit)}, .caption = "", .table = table_of(runs, unit), .table_note = note_of(runs)};
  const Plot late = late_curves_of(runs, unit);
  const bool has_late_part = has_points(late) && std::get<Plot>(figure.charts.front()).x_scale == ScaleKind::kLog;
  if (has_late_part) figure.charts.emplace_back(late);
  figure.caption = caption_of(runs, unit, has_late_part);
  return figure;
}

const char* where_time_is_told(double longest_minutes, double& unit_minutes) {
  unit_minutes = longest_minutes < 180.0 ? 1.0 : longest_minutes < 4320.0 ? 60.0 : 1440.0;
  return longest_minutes < 180.0    ? "minutes of training"
         : longest_minutes < 4320.0 ? "hours of training"
                                    : "days of training";
}

}  // namespace

void add_learning_curves(Page& page, const ReportData& data) {
  page.section("learning", "Learning curves");
  DrawnRuns runs = all_of(data);
  std::erase_if(runs, [](const DrawnRun& drawn) { return !is_begun(drawn) && !has_validation(drawn); });
  if (std::ranges::none_of(runs, is_begun))
    return page.missing("Nothing is logged yet; train with", training_command(data.runs.front()));
  const LossUnit unit = unit_of_training(data.runs);
  std::vector<ScoredText> texts;
  for (const DrawnRun& drawn : runs) texts.push_back(judged_text(*drawn.run));
  const std::vector<TextGroup> groups = group_by_text(texts, unit.per_byte());
  say_different(page, groups, [&](size_t i) { return runs[i].run->name; });
  for (size_t g = 0; g < groups.size(); ++g)
    page.figure(figure_of_group(curves_figure(members_of(groups[g], runs), unit), groups, g));
}

void add_throughput(Page& page, const ReportData& data) {
  page.section("throughput", "Throughput");
  if (std::ranges::none_of(all_of(data), is_begun))
    return page.missing("No speed is logged yet; train with", training_command(data.runs.front()));
  Plot plot{.name = "throughput",
            .title = "Tokens per second over the time of training",
            .y_label = "tokens per second",
            .y_low = 0.0,
            .series = {}};
  double longest = 0.0;
  for (const RunData& run : data.runs) {
    if (!run.metrics.training.empty()) longest = std::max(longest, minutes_of(run.metrics.training.back()));
  }
  double unit_minutes = 1.0;
  plot.x_label = where_time_is_told(longest, unit_minutes);
  for (size_t i = 0; i < data.runs.size(); ++i) {
    std::vector<Point> points = line_of(data.runs[i], LossUnit(false), speed_value, minutes_of);
    for (Point& point : points) point.x /= unit_minutes;
    plot.series.push_back({.name = data.runs[i].name,
                           .colour = static_cast<int64_t>(i),
                           .points = thinned(points, kMostPoints, ScaleKind::kLinear)});
  }
  page.figure({.charts = {plot},
               .caption = "Tokens trained on in a second, of all ranks together; the time is that of steps, without "
                          "evaluations, checkpoints and pauses.",
               .table = {}});
}

}  // namespace segue::report
