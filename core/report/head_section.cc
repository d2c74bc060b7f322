// The head of the page: its subject, and each run in one row of numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/text.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/palette.h"
#include "core/evaluation/loss_limit.h"
#include "core/evaluation/loss_units.h"
#include "core/report/scored_text.h"
#include "core/report/sections.h"
#include "core/report/units.h"

namespace segue::report {

namespace {

constexpr size_t kMostNamesInTitle = 3;
constexpr const char* kUnknown = "\xE2\x80\x93";

std::string joined_names(const std::vector<RunData>& runs) {
  if (runs.size() > kMostNamesInTitle) return fmt::format("{} runs", runs.size());
  std::string names = runs.front().name;
  for (size_t i = 1; i < runs.size(); ++i) {
    names += i + 1 == runs.size() ? " and " : ", ";
    names += runs[i].name;
  }
  return names;
}

struct BestLoss {
  double value = 0.0;
  std::string what;  // "best loss on valid"
  int64_t step = 0;  // after which it was measured
  int64_t tokens = 0;
};

// On text that the run was not trained on, when it was evaluated so.
std::optional<BestLoss> best_loss(const RunData& run, const LossUnit& unit) {
  const Metrics& metrics = run.metrics;
  if (!metrics.validation.empty()) {
    const auto best = std::min_element(metrics.validation.begin(), metrics.validation.end(),
                                       [](const auto& a, const auto& b) { return a.loss < b.loss; });
    return BestLoss{unit.of(best->loss, best->bits_per_byte), "best loss on " + best->split, best->step, best->tokens};
  }
  if (metrics.training.empty()) return std::nullopt;
  const TrainingPoint& last = metrics.training.back();
  return BestLoss{unit.of(last.loss, last.bits_per_byte), "last loss in training", last.step, last.tokens};
}

double median_speed(const RunData& run) {
  std::vector<double> speeds;
  for (const TrainingPoint& point : run.metrics.training) speeds.push_back(point.tokens_per_second);
  if (speeds.empty()) return 0.0;
  const auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

std::string cell(std::string_view what, std::string_view value, std::string_view below) {
  return fmt::format("<div><span class=\"what\">{}</span><span class=\"value\">{}</span><small>{}</small></div>\n",
                     escaped(what), escaped(value), escaped(below));
}

std::string shape_of(const RunData& run) {
  const ModelConfig& model = run.config.model;
  return fmt::format("{} of {}, segment {}, memory {}", counted(model.n_layer, "layer"), model.d_model,
                     human_count(run.config.training.tgt_len), human_count(model.mem_len));
}

std::string row_of(const RunData& run, int64_t index, const LossUnit& unit) {
  const std::vector<TrainingPoint>& training = run.metrics.training;
  const bool is_begun = !training.empty();
  const int64_t step = is_begun ? training.back().step : 0;
  const std::optional<BestLoss> loss = best_loss(run, unit);
  std::string html =
      fmt::format("<div class=\"run\" style=\"--own:{}\">\n<div class=\"name\">{}<small>{}</small></div>\n",
                  series_colour(index, Ink::kPage), escaped(run.name), escaped(shape_of(run)));
  html += cell("parameters", run.parameters ? with_prefix(static_cast<double>(*run.parameters)) : kUnknown, "");
  html += cell("tokens", is_begun ? with_prefix(static_cast<double>(training.back().tokens)) : kUnknown,
               fmt::format("step {} of {}", human_count(step), human_count(run.config.training.max_step)));
  html += cell(loss ? loss->what : "loss", loss ? fixed(loss->value, 3) : kUnknown,
               loss ? fmt::format("{}, step {}", unit.name(), human_count(loss->step)) : unit.name());
  html += cell("speed", is_begun ? with_prefix(median_speed(run)) : kUnknown, "tokens per second");
  html += cell("time", is_begun ? human_duration(training.back().seconds) : kUnknown, "in steps");
  return html + "</div>\n";
}

// The run with the lowest loss of those that have one, where all losses are of the same text.
std::string summary_of(const ReportData& data, const LossUnit& unit) {
  const RunData* best_run = nullptr;
  std::optional<BestLoss> best;
  std::vector<const RunData*> judged;
  std::vector<ScoredText> texts;
  for (const RunData& run : data.runs) {
    const std::optional<BestLoss> loss = best_loss(run, unit);
    if (!loss) continue;
    judged.push_back(&run);
    texts.push_back(judged_text(run));
    if (best && best->value <= loss->value) continue;
    best = loss;
    best_run = &run;
  }
  if (!best) return "Nothing is logged yet.";
  const std::vector<TextGroup> groups = group_by_text(texts, unit.per_byte());
  if (groups.size() > 1)
    return fmt::format("No loss is ranked lowest, since the losses are of different texts: {}.",
                       list_of(groups, [&](size_t i) { return judged[i]->name; }));
  // Before the first line of training it is not known how many tokens an evaluation came after.
  const std::string when = best->tokens > 0 ? fmt::format("{} tokens", with_prefix(static_cast<double>(best->tokens)))
                                            : fmt::format("{} steps", human_count(best->step));
  const std::string value = unit.text(best->value);
  if (data.runs.size() == 1) return fmt::format("The {} is {}, after {}.", best->what, value, when);
  return fmt::format("{} has the lowest loss: {} ({}), after {}.", best_run->name, value, best->what, when);
}

// Whether the last lines all report losses that no sound training has.
bool has_failed(const RunData& run) {
  constexpr int64_t kLines = 5;
  const std::vector<TrainingPoint>& points = run.metrics.training;
  if (points.empty()) return false;
  const int64_t lines = std::min(kLines, std::ssize(points));
  const auto add = [](double sum, const TrainingPoint& point) { return sum + point.loss; };
  const double start = std::accumulate(points.begin(), points.begin() + lines, 0.0, add) / static_cast<double>(lines);
  const double limit = loss_limit(run.vocabulary.value_or(0), start);
  return std::all_of(points.end() - lines, points.end(), [&](const auto& point) { return point.loss > limit; });
}

void warn_of_failures(Page& page, const std::vector<RunData>& runs) {
  for (const RunData& run : runs) {
    if (!has_failed(run)) continue;
    const std::string guessing =
        run.vocabulary ? fmt::format(" A uniform guess costs {:.3f}.", std::log(static_cast<double>(*run.vocabulary)))
                       : "";
    page.paragraph(fmt::format("{} has failed: its training loss is {:.4g} nats per token.{}", run.name,
                               run.metrics.training.back().loss, guessing));
  }
}

// Of what losses were measured on: a low one over many unknown tokens is no good model.
void tell_unknown(Page& page, const std::vector<RunData>& runs) {
  for (const RunData& run : runs) {
    std::vector<std::string> parts;
    const auto add = [&](double share, const std::string& of) {
      if (share > 0.0) parts.push_back(fmt::format("{:.3g} % of {}", 100.0 * share, of));
    };
    if (const auto& validation = run.metrics.validation; !validation.empty())
      add(validation.back().unknown_share.value_or(0.0), "split " + validation.back().split + " in training");
    for (const Evaluation& evaluation : run.evaluations) {
      if (evaluation.results.empty()) continue;
      const EvaluatedLength& result = evaluation.results.front();
      if (const std::optional<int64_t> unknown = result.unknown_tokens)
        add(UnknownTokens{.count = *unknown, .scored = result.tokens}.share(),
            fmt::format("evaluation {} (split {})", evaluation.name, evaluation.split));
    }
    if (parts.empty()) continue;
    page.paragraph(fmt::format(
        "{}: some of the scored tokens are unknown to the vocabulary: {}. Their loss does not tell what text "
        "they stood for, so a low loss over many of them does not mean a good model.",
        run.name, fmt::join(parts, "; ")));
  }
}

}  // namespace

PageHead head_of(const ReportData& data) {
  return {.kicker = "", .title = joined_names(data.runs), .summary = summary_of(data, unit_of_training(data.runs))};
}

void add_verdict(Page& page, const ReportData& data) {
  if (data.verdict.empty()) return;
  page.section("verdict", "What was found");
  page.html("<pre>" + escaped(data.verdict) + "</pre>\n");
}

void add_runs(Page& page, const ReportData& data) {
  const LossUnit unit = unit_of_training(data.runs);
  page.section("runs", data.runs.size() == 1 ? "The run" : "The runs");
  std::string rows;
  // More runs than colours have panels, in which no line is told by its colour.
  const bool has_colours = std::ssize(data.runs) <= kSeriesColours;
  for (size_t i = 0; i < data.runs.size(); ++i)
    rows += row_of(data.runs[i], has_colours ? static_cast<int64_t>(i) : 0, unit);
  page.html("<div class=\"runs\">\n" + rows + "</div>\n");
  warn_of_failures(page, data.runs);
  tell_unknown(page, data.runs);
}

}  // namespace segue::report
