// The worth of memory: the loss against its length and against all context.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "core/drawing/numbers.h"
#include "core/evaluation/loss_units.h"
#include "core/report/commands.h"
#include "core/report/scored_text.h"
#include "core/report/sections.h"
#include "core/report/units.h"

namespace segue::report {

namespace {

// Results of one evaluation that differ only in the length that a curve is drawn over.
struct LengthCurve {
  const RunData* run = nullptr;
  const Evaluation* evaluation = nullptr;
  int64_t colour = 0;
  std::string name;
  std::vector<EvaluatedLength> results;  // from the shortest to the longest
  bool is_recomputed() const { return results.front().is_recomputed; }
};

// The settings that are equal along a curve. The segment is a window's whole context.
auto settings_of(const EvaluatedLength& result) {
  return std::make_tuple(result.is_recomputed, result.is_recomputed ? 0 : result.tgt_len, result.stride,
                         result.clamp_len, result.same_length);
}

std::vector<std::string> words_for(const EvaluatedLength& result, const EvaluatedLength& other) {
  if (result.is_recomputed != other.is_recomputed) return {result.is_recomputed ? "windows" : "memory"};
  std::vector<std::string> words;
  if (result.is_recomputed && result.stride != other.stride) words.push_back(fmt::format("stride {}", result.stride));
  if (!result.is_recomputed && result.tgt_len != other.tgt_len)
    words.push_back(fmt::format("segment {}", result.tgt_len));
  if (result.clamp_len != other.clamp_len)
    words.push_back(result.clamp_len < 0 ? "not clamped" : fmt::format("clamped at {}", result.clamp_len));
  if (result.same_length != other.same_length) words.emplace_back(result.same_length ? "same length" : "all lengths");
  return words;
}

// Names tell apart what differs within a run, and no more.
void name_curves(std::vector<LengthCurve>& curves) {
  for (LengthCurve& curve : curves) {
    std::set<std::string> words;
    for (const LengthCurve& other : curves) {
      if (other.run != curve.run || &other == &curve) continue;
      if (other.evaluation != curve.evaluation) words.insert(curve.evaluation->name);
      for (std::string& word : words_for(curve.results.front(), other.results.front())) words.insert(std::move(word));
    }
    curve.name = curve.run->name;
    for (const std::string& word : words) curve.name += ", " + word;
  }
}

std::vector<LengthCurve> curves_of(const std::vector<RunData>& runs, bool with_windows) {
  std::vector<LengthCurve> curves;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const Evaluation& evaluation : runs[i].evaluations) {
      const size_t first = curves.size();
      for (const EvaluatedLength& result : evaluation.results) {
        if (result.is_recomputed && !with_windows) continue;
        auto curve = std::find_if(
            curves.begin() + static_cast<int64_t>(first), curves.end(),
            [&](const LengthCurve& known) { return settings_of(known.results.front()) == settings_of(result); });
        if (curve == curves.end())
          curve = curves.insert(curves.end(), {&runs[i], &evaluation, static_cast<int64_t>(i), "", {}});
        curve->results.push_back(result);
      }
    }
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    LengthCurve& curve = curves[i];
    if (runs.size() == 1) curve.colour = static_cast<int64_t>(i);
    std::stable_sort(curve.results.begin(), curve.results.end(),
                     [](const auto& a, const auto& b) { return a.context < b.context; });
  }
  return curves;
}

bool has_several(const LengthCurve& curve) { return curve.results.front().context < curve.results.back().context; }

double value_of(const EvaluatedLength& result, const LossUnit& unit) {
  return unit.of(result.loss, result.bits_per_byte);
}

// The confidence of the difference to the run's baseline where it is known: all lengths met the same text.
double spread_of(const EvaluatedLength& result, const LossUnit& unit) {
  const double scale = unit.scale(result.loss, result.bits_per_byte);
  return result.difference95 ? unit.spread(*result.difference95, result.difference_bits95, scale)
                             : unit.spread(result.confidence95, result.bits95, scale);
}

using LengthOf = int64_t (*)(const EvaluatedLength&);

int64_t memory_of(const EvaluatedLength& result) { return result.mem_len; }

int64_t context_of(const EvaluatedLength& result) { return result.context; }

Series series_of(const LengthCurve& curve, LengthOf length, const LossUnit& unit) {
  Series series{.name = curve.name,
                .colour = curve.colour,
                .style = curve.is_recomputed() ? LineStyle::kDashed : LineStyle::kSolid,
                .has_markers = true,
                .points = {}};
  for (const EvaluatedLength& result : curve.results) {
    const double value = value_of(result, unit);
    const double spread = spread_of(result, unit);
    series.points.push_back({.x = static_cast<double>(length(result)),
                             .y = value,
                             .spread = spread,
                             .title = fmt::format("{}\nmemory {}, segment {}\n{}{}", curve.name, result.mem_len,
                                                  result.tgt_len, unit.text(value),
                                                  result.is_baseline ? ", with which its other lengths are compared"
                                                                     : " \xC2\xB1 " + significant(spread, 2))});
  }
  return series;
}

// Lengths that models were trained with; where they differ, with the names of the runs.
std::vector<Mark> trained_marks(const std::vector<LengthCurve>& curves, bool with_segment) {
  std::map<int64_t, std::set<std::string>> names;
  for (const LengthCurve& curve : curves) {
    const Evaluation& evaluation = *curve.evaluation;
    names[evaluation.trained_mem_len + (with_segment ? evaluation.trained_tgt_len : 0)].insert(curve.run->name);
  }
  std::vector<Mark> marks;
  for (const auto& [length, runs] : names) {
    const std::string who = names.size() > 1 && runs.size() == 1 ? ", " + *runs.begin() : "";
    marks.push_back({static_cast<double>(length), fmt::format("trained with {}{}", human_count(length), who)});
  }
  return marks;
}

Plot plot_of(const std::vector<LengthCurve>& curves, LengthOf length, const LossUnit& unit) {
  Plot plot{.x_scale = ScaleKind::kLogFromZero, .series = {}};
  plot.y_label = unit.name();
  std::set<double> lengths;
  for (const LengthCurve& curve : curves) {
    plot.series.push_back(series_of(curve, length, unit));
    for (const EvaluatedLength& result : curve.results) lengths.insert(static_cast<double>(length(result)));
  }
  constexpr size_t kMostGivenTicks = 14;
  if (lengths.size() <= kMostGivenTicks) plot.x_ticks.assign(lengths.begin(), lengths.end());
  return plot;
}

// The share of the scored tokens; empty where the vocabulary has no unknown token.
std::string unknown_text(const EvaluatedLength& result) {
  return result.unknown_tokens ? percent_of(UnknownTokens{.count = *result.unknown_tokens, .scored = result.tokens})
                               : "";
}

Table table_of(const std::vector<LengthCurve>& curves) {
  Table table{.head = {"results of", "split", "mode", "memory", "segment", "context", "tokens", "loss, nats/token",
                       "\xC2\xB1 95 %", "bits/byte", "unknown", "tokens/s"},
              .rows = {}};
  for (const LengthCurve& curve : curves) {
    for (const EvaluatedLength& result : curve.results) {
      table.rows.push_back({curve.run->name + ", " + curve.evaluation->name, curve.evaluation->split,
                            result.is_recomputed ? fmt::format("windows, stride {}", result.stride) : "memory",
                            human_count(result.mem_len), human_count(result.tgt_len), human_count(result.context),
                            human_count(result.tokens), fixed(result.loss, 5), fixed(result.confidence95, 5),
                            result.bits_per_byte ? fixed(*result.bits_per_byte, 5) : "", unknown_text(result),
                            result.tokens_per_second > 0.0 ? significant(result.tokens_per_second, 4) : ""});
    }
  }
  return table;
}

// Describes the first curve: where it starts, how low it gets, and whether that is beyond what was trained.
std::string memory_caption(const LengthCurve& curve, const LossUnit& unit) {
  const auto lowest = std::min_element(curve.results.begin(), curve.results.end(),
                                       [](const auto& a, const auto& b) { return a.loss < b.loss; });
  const EvaluatedLength& first = curve.results.front();
  const int64_t trained = curve.evaluation->trained_mem_len;
  const std::string start = first.mem_len > 0 ? "with " + counted(first.mem_len, "token")
                            : trained > 0     ? "without the memory that it was trained with"
                                              : "without memory";
  const std::string begin =
      "Loss against the length of the memory. Bands: 95 % confidence of a run's difference to itself at the trained "
      "length, or at the shortest if the trained one was not evaluated. All lengths of a run read the same text. The "
      "bands do not compare runs with each other; segue paired-difference does.";
  if (lowest == curve.results.begin()) return fmt::format("{} {} is best {}.", begin, curve.name, start);
  return fmt::format(
      "{} {} falls from {} {} to {} with {}{}.", begin, curve.name, unit.text(value_of(first, unit)), start,
      fixed(value_of(*lowest, unit), unit.per_byte() ? 4 : 3), human_count(lowest->mem_len),
      lowest->mem_len > trained ? fmt::format(", beyond the {} it was trained with", human_count(trained)) : "");
}

Figure by_memory_figure(const std::vector<LengthCurve>& sweeps, const LossUnit& unit) {
  Plot by_memory = plot_of(sweeps, memory_of, unit);
  by_memory.name = "loss-by-memory";
  by_memory.title = "Loss against the length of the memory";
  by_memory.x_label = "tokens of memory";
  by_memory.marks = trained_marks(sweeps, false);
  return {.charts = {by_memory}, .caption = memory_caption(sweeps.front(), unit), .table = {}};
}

Figure by_context_figure(const std::vector<LengthCurve>& all, const LossUnit& unit) {
  Plot by_context = plot_of(all, context_of, unit);
  by_context.name = "loss-by-context";
  by_context.title = "Loss against the longest context";
  by_context.x_label = "most tokens that a token attends to";
  by_context.marks = trained_marks(all, true);
  const bool has_windows =
      std::any_of(all.begin(), all.end(), [](const LengthCurve& curve) { return curve.is_recomputed(); });
  return {.charts = {by_context},
          .caption = std::string("The same against all tokens that one can attend to, memory and segment together") +
                     (has_windows ? "; dashed: windows without memory, recomputed at every stride." : "."),
          .table = table_of(all)};
}

}  // namespace

void add_loss_by_memory(Page& page, const ReportData& data) {
  page.section("memory", "Loss against memory and context");
  const LossUnit unit = unit_of_evaluations(data.runs);
  std::vector<LengthCurve> sweeps = curves_of(data.runs, false);
  std::erase_if(sweeps, [](const LengthCurve& curve) { return !has_several(curve); });
  if (sweeps.empty())
    return page.missing("No evaluation has several memory lengths yet; make one with",
                        evaluation_command(data.runs.front(), "--name memory --per-token"));
  std::vector<LengthCurve> all = curves_of(data.runs, true);
  name_curves(sweeps);
  name_curves(all);
  const std::vector<TextGroup> groups = groups_of(all, unit.per_byte());
  say_different(page, groups, [&](size_t i) { return all[i].name; });
  const std::vector<TextGroup> swept = groups_of(sweeps, unit.per_byte());
  for (size_t g = 0; g < swept.size(); ++g)
    page.figure(figure_of_group(by_memory_figure(members_of(swept[g], sweeps), unit), swept, g));
  for (size_t g = 0; g < groups.size(); ++g)
    page.figure(figure_of_group(by_context_figure(members_of(groups[g], all), unit), groups, g));
}

}  // namespace segue::report
