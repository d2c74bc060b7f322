// The page: who is better and how surely, at what cost, along the way, where in the text, and what differs.
#include "core/compare/comparison_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "base/text.h"
#include "core/compare/variant_drawings.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/page.h"

namespace segue {

namespace {

using report::Page;
using report::Plot;
using report::Series;

constexpr int kDecimals = 4;

std::string bits_text(double nats, const std::optional<double>& spread, double scale) {
  std::string text = report::fixed(nats * scale, kDecimals);
  if (spread) text += " \xC2\xB1 " + report::fixed(*spread * scale, kDecimals);
  return text;
}

std::string p_text(double p) { return p < 0.001 ? "< 0.001" : report::fixed(p, 3); }

std::string lengths_text(const VariantLoss& loss) {
  return fmt::format("segments of {}, memory {}", human_count(loss.tgt_len), human_count(loss.mem_len));
}

report::Table loss_table(const ComparisonResult& result, const LossSet& set) {
  const std::string& first = result.variants.front().name;
  report::Table table{.head = {"variant", "lengths", result.bits_name(), "above " + first, "p", ""}, .rows = {}};
  const double scale = result.bits_per_nat();
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const ComparedVariant& variant = result.variants[v];
    std::vector<std::string>& row =
        table.rows.emplace_back(std::vector<std::string>{variant.name, "", "", "", "", divergence_of(result, variant)});
    if (set.losses[v] == nullptr) continue;
    const VariantLoss& loss = *set.losses[v];
    row[1] = lengths_text(loss);
    row[2] = bits_text(loss.losses.mean(), loss.losses.confidence95(), scale);
    if (!loss.difference) continue;
    row[3] = fmt::format("{}{}", loss.difference->mean < 0.0 ? "" : "+",
                         bits_text(loss.difference->mean, loss.difference->confidence95, scale));
    if (loss.difference->p_adjusted) row[4] = p_text(*loss.difference->p_adjusted);
    row[5] = verdict_of(*loss.difference) + (row[5].empty() ? "" : "; " + row[5]);
  }
  return table;
}

report::IntervalChart differences_of(const ComparisonResult& result, const LossSet& set) {
  const double scale = result.bits_per_nat();
  report::IntervalChart chart{
      .name = set.name.empty() ? "differences" : "differences-" + set.name,
      .title = "Differences from " + result.variants.front().name + (set.title.empty() ? "" : ", " + set.title),
      .x_label = fmt::format("{} above {}; better is left", result.bits_name(), result.variants.front().name),
      .intervals = {}};
  for (size_t v = 1; v < result.variants.size(); ++v) {
    if (set.losses[v] == nullptr || !set.losses[v]->difference) continue;
    const SeedDifference& difference = *set.losses[v]->difference;
    report::Interval interval{.name = result.variants[v].name,
                              .colour = static_cast<int64_t>(v),
                              .value = difference.mean * scale,
                              .text = fmt::format("{:+.4f}", difference.mean * scale)};
    if (difference.confidence95) interval.spread = *difference.confidence95 * scale;
    if (difference.is_significant()) interval.text += " *";
    chart.intervals.push_back(std::move(interval));
  }
  return chart;
}

// Which variants diverged, from which seeds.
std::string diverged_text(const ComparisonResult& result) {
  std::string text;
  for (const ComparedVariant& variant : result.variants) {
    if (variant.diverged.empty()) continue;
    text += fmt::format("{}{} from seed{} {}", text.empty() ? "" : "; ", variant.name,
                        variant.diverged.size() == 1 ? "" : "s", fmt::join(variant.diverged, ", "));
  }
  return text;
}

void add_set(Page& page, const ComparisonResult& result, const LossSet& set) {
  const ComparedVariant& first = result.variants.front();
  const std::string of = result.seeds.size() == 1 ? "of the text alone, as one seed says nothing of others"
                                                  : "of both other text of this kind and other seeds";
  const report::IntervalChart chart = differences_of(result, set);
  if (!chart.intervals.empty())
    page.figure(
        {.charts = {chart},
         .caption = fmt::format(
             "Differences from {} ({}){} on {} tokens of split {}, the same of all, with 95 % intervals {}. A star "
             "marks those that are significant at 5 % for all variants together (Holm).",
             first.name, lengths_text(*set.losses.front()), set.title.empty() ? "" : ", " + set.title + ",",
             human_count(result.tokens), result.split, of)});
  page.html(report::table_html(loss_table(result, set)));
}

// Tokens of a segment and the memory before it.
double reach_of(const VariantLoss& loss) { return static_cast<double>(loss.tgt_len + loss.mem_len); }

// The losses of all variants at the measured lengths, unless two of these are as long.
void add_lengths(Page& page, const ComparisonResult& result) {
  Plot plot{.name = "loss-by-length",
            .title = "Loss by length",
            .x_label = "tokens of segment and memory",
            .y_label = result.bits_name(),
            .x_scale = report::ScaleKind::kLog,
            .series = {}};
  for (size_t v = 0; v < result.variants.size(); ++v) {
    Series series{
        .name = result.variants[v].name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
    for (const VariantLoss& loss : result.variants[v].losses)
      series.points.push_back({.x = reach_of(loss), .y = loss.losses.mean() * result.bits_per_nat()});
    std::ranges::sort(series.points, {}, &report::Point::x);
    if (std::ranges::adjacent_find(series.points, {}, &report::Point::x) != series.points.end()) return;
    plot.series.push_back(std::move(series));
  }
  page.figure({.charts = {plot}, .caption = "Losses at all measured lengths: mean over the seeds.", .table = {}});
}

void add_losses(Page& page, const ComparisonResult& result) {
  page.section("losses", "Which is better, and how surely");
  if (const std::string diverged = diverged_text(result); !diverged.empty())
    page.paragraph("Diverged: " + diverged +
                   ". Means leave these out, and a difference is of the seeds that both variants have: what is told is "
                   "of trainings that end.");
  if (result.points() > 1) add_lengths(page, result);
  for (const LossSet& set : loss_sets(result)) add_set(page, result, set);
}

void add_costs(Page& page, const ComparisonResult& result) {
  page.section("costs", "What they cost");
  report::Table table{.head = {"variant", "parameters", "steps", "tokens", "FLOP", "time", "tokens/s", "in evaluation",
                               "stream", "process"},
                      .rows = {}};
  for (const ComparedVariant& variant : result.variants) {
    const VariantCost& cost = variant.cost;
    const auto measured = [&](const std::string& text) { return variant.runs.empty() ? "diverged" : text; };
    table.rows.push_back({variant.name, report::with_prefix(static_cast<double>(cost.parameters)),
                          human_count(cost.steps), measured(report::with_prefix(cost.tokens)),
                          fmt::format("{:.3g}", cost.flops), measured(human_duration(cost.seconds)),
                          measured(report::with_prefix(cost.trained_per_second)),
                          measured(report::with_prefix(cost.evaluated_per_second)), human_bytes(cost.memory_bytes),
                          cost.peak_bytes ? human_bytes(*cost.peak_bytes) : "not seen"});
  }
  page.html(report::table_html(table));
  page.paragraph(
      "Of one run, on average over the seeds. FLOP by the formulas of each model, forward and backward; time in steps; "
      "tokens per second in training and in evaluation; bytes that a stream keeps from segment to segment, and the "
      "most "
      "that a process held in training.");
}

void add_rates(Page& page, const ComparisonResult& result) {
  if (!result.variants.front().rate) return;
  page.section("rates", "Learning rates");
  Plot plot{.name = "learning-rates",
            .title = "Validation loss by learning rate",
            .x_label = "learning rate",
            .y_label = result.bits_name(),
            .x_scale = report::ScaleKind::kLog,
            .series = {}};
  std::string at_end;
  std::string diverged;
  double flops = 0.0;
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const ComparedVariant& variant = result.variants[v];
    Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
    for (const SweptRate::Tried& one : variant.rate->tried) {
      if (one.loss) {
        series.points.push_back({.x = one.learning_rate, .y = *one.loss * result.bits_per_nat()});
      } else {
        diverged += fmt::format("{}{} at {}", diverged.empty() ? "" : ", ", variant.name, one.learning_rate);
      }
    }
    plot.series.push_back(std::move(series));
    flops += variant.rate->flops;
    if (variant.rate->is_at_end()) at_end += (at_end.empty() ? "" : ", ") + variant.name;
  }
  if (!at_end.empty()) at_end = " A better one may lie beyond those tried for " + at_end + ".";
  if (!diverged.empty()) diverged = " Diverged: " + diverged + ".";
  page.figure({.charts = {plot},
               .caption = fmt::format("Every variant takes the learning rate with the lowest loss on the validation "
                                      "split, of those tried from the first seed, which took {:.3g} FLOP.{}{}",
                                      flops, diverged, at_end),
               .table = {}});
}

// Where on the x axis a step of a variant lies.
using Where = double (*)(const ComparisonResult&, const ComparedVariant&, const report::ValidationPoint&);

double tokens_at(const ComparisonResult& /*result*/, const ComparedVariant& /*variant*/,
                 const report::ValidationPoint& point) {
  return static_cast<double>(point.tokens);
}

double flops_at(const ComparisonResult& result, const ComparedVariant& variant, const report::ValidationPoint& point) {
  return flops_of_steps(variant.config, result.vocab_size, point.step);
}

double minutes_at(const ComparisonResult& /*result*/, const ComparedVariant& /*variant*/,
                  const report::ValidationPoint& point) {
  constexpr double kSecondsPerMinute = 60.0;
  return point.seconds / kSecondsPerMinute;
}

// The mean over seeds of the validation losses at each step that all of them were evaluated at.
Series validation_of(const ComparisonResult& result, size_t v, Where where) {
  const ComparedVariant& variant = result.variants[v];
  Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
  if (variant.runs.empty()) return series;
  for (const report::ValidationPoint& point : variant.runs.front().metrics.validation) {
    const auto count = static_cast<double>(variant.runs.size());
    report::ValidationPoint mean{.step = point.step, .tokens = point.tokens};
    size_t found = 0;
    for (const report::RunData& run : variant.runs) {
      const auto same = std::ranges::find(run.metrics.validation, point.step, &report::ValidationPoint::step);
      if (same == run.metrics.validation.end()) continue;
      mean.loss += same->loss / count;
      mean.seconds += same->seconds / count;
      ++found;
    }
    if (found < variant.runs.size()) continue;
    series.points.push_back({.x = where(result, variant, mean), .y = mean.loss * result.bits_per_nat()});
  }
  return series;
}

Plot curves_by(const ComparisonResult& result, const std::string& name, const std::string& x_label, Where where) {
  Plot plot{.name = "validation-by-" + name,
            .title = "Validation loss by " + name,
            .x_label = x_label,
            .y_label = result.bits_name(),
            .series = {}};
  for (size_t v = 0; v < result.variants.size(); ++v) plot.series.push_back(validation_of(result, v, where));
  return plot;
}

void add_curves(Page& page, const ComparisonResult& result) {
  page.section("curves", "Along the way");
  const Plot by_tokens = curves_by(result, "tokens", "tokens trained on", tokens_at);
  if (!report::has_points(by_tokens)) {
    page.missing("The runs were not evaluated on the way; they are with", R"("evaluation": {"interval": 500})");
    return;
  }
  page.figure({.charts = {by_tokens},
               .caption =
                   "Validation loss by tokens trained on, the mean over seeds, as each run evaluated itself during "
                   "training.",
               .table = {}});
  page.figure({.charts = {curves_by(result, "FLOP", "FLOP, forward and backward", flops_at),
                          curves_by(result, "time", "minutes in steps", minutes_at)},
               .caption = "The same by operations and by time: lines that cross are choices that depend on the budget.",
               .table = {}});
}

// Losses by a part of the text, averaged over the seeds of a variant.
using PartsOf = std::vector<report::LossOfPart> report::EvaluatedLength::*;

Series parts_of(const ComparisonResult& result, size_t v, PartsOf parts, report::IsEnough is_enough) {
  const ComparedVariant& variant = result.variants[v];
  Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .points = {}};
  const auto list_of = [&](const report::RunData& run) {
    const auto found = std::ranges::find(run.evaluations, kComparedEvaluation, &report::Evaluation::name);
    return report::joined(found->results.back().*parts, is_enough);
  };
  const auto count = static_cast<double>(variant.runs.size());
  for (const report::RunData& run : variant.runs) {
    const std::vector<report::LossOfPart> list = list_of(run);
    series.points.resize(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      series.points[i].x = 0.5 * static_cast<double>(list[i].from + list[i].to);
      series.points[i].y += list[i].loss * result.bits_per_nat() / count;
    }
  }
  return series;
}

Plot parts_plot(const ComparisonResult& result, const std::string& what, const std::string& x_label, PartsOf parts,
                report::IsEnough is_enough) {
  Plot plot{.name = "loss-by-" + what,
            .title = "Loss by " + what,
            .x_label = x_label,
            .y_label = result.bits_name(),
            .x_scale = report::ScaleKind::kLogFromZero,
            .series = {}};
  for (size_t v = 0; v < result.variants.size(); ++v) plot.series.push_back(parts_of(result, v, parts, is_enough));
  return plot;
}

void add_parts(Page& page, const ComparisonResult& result) {
  page.section("parts", "Where in the text");
  const auto is_known = [](const ComparedVariant& variant) { return !variant.losses.empty(); };
  const ComparedVariant& known = *std::ranges::find_if(result.variants, is_known);
  page.figure({.charts = {parts_plot(result, "position", "position in the segment",
                                     &report::EvaluatedLength::by_position, report::is_wide_for_its_place),
                          parts_plot(result, "context", "tokens that could be attended to",
                                     &report::EvaluatedLength::by_context, report::has_many_tokens)},
               .caption = fmt::format("Loss by position in the segment, and by available context, the mean over seeds "
                                      "({} for {}).",
                                      lengths_text(known.losses.back()), known.name),
               .table = {}});
}

void add_configs(Page& page, const ComparisonResult& result) {
  page.section("configs", "What differs");
  report::Table table{.head = {"key"}, .rows = {}};
  std::vector<Config> configs;
  for (const ComparedVariant& variant : result.variants) {
    table.head.push_back(variant.name);
    configs.push_back(variant.config);
  }
  for (const ConfigDifference& difference : differences_of(configs)) {
    table.rows.push_back({difference.key});
    table.rows.back().insert(table.rows.back().end(), difference.values.begin(), difference.values.end());
  }
  page.html(report::table_html(table));
  page.figure(visible_pairs_of(result));
  if (const report::Figure biases = biases_of(result); !biases.charts.empty()) page.figure(biases);
  page.details("The config of " + result.variants.front().name,
               "<pre>" + report::escaped(to_json(configs.front()).dump(2)) + "</pre>\n");
}

// Of each as it was trained, or else at the first of the measured lengths.
std::string summary_of(const ComparisonResult& result) {
  const std::vector<LossSet> sets = loss_sets(result);
  if (sets.empty()) return "All diverged.";
  const std::vector<const VariantLoss*>& losses = sets.front().losses;
  const auto loss_of = [](const VariantLoss* loss) {
    return loss == nullptr ? std::numeric_limits<double>::infinity() : loss->losses.mean();
  };
  const auto best = static_cast<size_t>(std::ranges::min_element(losses, {}, loss_of) - losses.begin());
  const ComparedVariant& variant = result.variants[best];
  const std::string of =
      fmt::format("{} at {} {}", variant.name, report::fixed(loss_of(losses[best]) * result.bits_per_nat(), kDecimals),
                  result.bits_name());
  const std::string diverged =
      variant.diverged.empty() ? "" : fmt::format(" where it did not diverge ({})", divergence_of(result, variant));
  if (best == 0) return fmt::format("None is below {}{}.", of, diverged);
  const std::optional<SeedDifference>& difference = losses[best]->difference;
  if (!difference) return fmt::format("The lowest is {}{}.", of, diverged);
  return fmt::format("The lowest is {}{}; its difference from {}: {}.", of, diverged, result.variants.front().name,
                     verdict_of(*difference));
}

}  // namespace

report::Page comparison_page(const ComparisonResult& result, const std::string& title) {
  Page page({.kicker = fmt::format("Comparison \xC2\xB7 {} of {} runs measured \xC2\xB7 {:%Y-%m-%d %H:%M} UTC",
                                   result.measured_runs, result.runs, fmt::gmtime(std::time(nullptr))),
             .title = title,
             .summary = fmt::format("{} {} variants, seeds {}.", summary_of(result), result.variants.size(),
                                    fmt::join(result.seeds, ", ")),
             .made_by = "segue compare"});
  add_losses(page, result);
  add_costs(page, result);
  add_rates(page, result);
  if (result.points() > 0) {
    add_curves(page, result);
    add_parts(page, result);
  }
  add_configs(page, result);
  return page;
}

}  // namespace segue
