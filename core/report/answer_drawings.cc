// Sums of shares, and plots of them in per cent.
#include "core/report/answer_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "core/drawing/numbers.h"

namespace segue::report {

namespace {

constexpr size_t kMostShareTicks = 12;
constexpr size_t kMostOfGrid = 24;  // rows, and columns

std::optional<int64_t> value_of(const AnswersOfExamples& examples, const ExampleKey& key) {
  if (key.trait.empty()) return examples.tokens;
  const auto found = examples.traits.find(key.trait);
  return found == examples.traits.end() ? std::nullopt : std::optional(found->second);
}

// Adds shares up, by their answers.
class ShareSum {
 public:
  void add(const AnswerShare& share) {
    const auto count = static_cast<double>(share.answers);
    answers_ += share.answers;
    right_ += count * share.accuracy;
    squares_ += std::pow(count * share.confidence95.value_or(0.0), 2);
    is_known_ = is_known_ && share.confidence95.has_value();
  }
  AnswerShare share() const {
    const auto count = static_cast<double>(answers_);
    AnswerShare share{.answers = answers_, .accuracy = right_ / count};
    if (is_known_) share.confidence95 = std::sqrt(squares_) / count;
    return share;
  }

 private:
  int64_t answers_ = 0;
  double right_ = 0.0;
  double squares_ = 0.0;
  bool is_known_ = true;
};

}  // namespace

std::vector<ExampleKey> varying_keys(const Answers& answers) {
  std::map<std::string, std::set<int64_t>> values;
  std::set<int64_t> lengths;
  for (const AnswersOfExamples& examples : answers.by_examples) {
    for (const auto& [name, value] : examples.traits) values[name].insert(value);
    lengths.insert(examples.tokens);
  }
  std::vector<ExampleKey> keys;
  for (const auto& [name, found] : values)
    if (found.size() > 1 && !name.empty()) keys.push_back({name});
  if (lengths.size() > 1) keys.push_back({});
  return keys;
}

Shares shares_by(const Answers& answers, const ExampleKey& key) {
  std::map<int64_t, ShareSum> sums;
  for (const AnswersOfExamples& examples : answers.by_examples)
    if (const std::optional<int64_t> value = value_of(examples, key)) sums[*value].add(examples.share);
  Shares shares;
  for (const auto& [value, sum] : sums) shares.push_back({static_cast<double>(value), sum.share()});
  return shares;
}

Shares shares_by_distance(const Answers& answers) {
  Shares shares;
  for (const AnswersAtDistance& at : answers.by_distance)
    shares.push_back({0.5 * (static_cast<double>(at.from) + static_cast<double>(at.to)), at.share});
  return shares;
}

double drawn_spread(const AnswerShare& share) {
  const double half = share.confidence95.value_or(0.0);
  const bool holds_all = share.accuracy - half <= 0.0 && share.accuracy + half >= 1.0;
  return holds_all ? 0.0 : kPercent * half;
}

Plot plot_of_shares(const std::string& what, const std::string& x_label, const std::vector<AnswerLine>& lines) {
  Plot plot{.name = "accuracy-by-" + what,
            .title = "Accuracy by " + what,
            .x_label = x_label,
            .y_label = "right answers, %",
            .x_scale = ScaleKind::kLogFromZero,
            .y_range = Range{0.0, kPercent},
            .series = {}};
  std::set<double> ticks;
  for (const AnswerLine& line : lines) {
    Series series{.name = line.name, .colour = line.colour, .has_markers = true, .points = {}};
    for (const ShareAt& at : line.shares) {
      series.points.push_back(
          {.x = at.x,
           .y = kPercent * at.share.accuracy,
           .spread = drawn_spread(at.share),
           .title = fmt::format("{}\n{} {}\n{}", line.name, x_label, significant(at.x, 3), share_text(at.share))});
      ticks.insert(at.x);
    }
    plot.series.push_back(std::move(series));
  }
  if (ticks.size() <= kMostShareTicks && what != "distance") plot.x_ticks.assign(ticks.begin(), ticks.end());
  return plot;
}

void mark_longest_trained(Plot& plot, const std::optional<int64_t>& tokens) {
  if (tokens && *tokens > 0)
    plot.marks.push_back({static_cast<double>(*tokens), fmt::format("trained up to {}", human_count(*tokens))});
}

std::optional<HeatTable> grid_of(const Answers& answers, const std::string& trait) {
  std::map<int64_t, std::map<int64_t, ShareSum>> cells;
  std::set<int64_t> lengths;
  for (const AnswersOfExamples& examples : answers.by_examples) {
    const std::optional<int64_t> value = value_of(examples, {trait});
    if (!value) continue;
    cells[*value][examples.tokens].add(examples.share);
    lengths.insert(examples.tokens);
  }
  size_t count = 0;
  for (const auto& [value, row] : cells) count += row.size();
  if (count <= std::max(cells.size(), lengths.size())) return {};
  if (cells.size() > kMostOfGrid || lengths.size() > kMostOfGrid) return {};
  HeatTable table{.corner = trait + " \xC2\xB7 tokens"};
  for (const int64_t length : lengths) table.columns.push_back(human_count(length));
  for (const auto& [value, row] : cells) {
    HeatTable::Row& added = table.rows.emplace_back(HeatTable::Row{.name = human_count(value)});
    for (const int64_t length : lengths) {
      const auto cell = row.find(length);
      added.shares.push_back(cell == row.end() ? std::nullopt : std::optional(cell->second.share().accuracy));
    }
  }
  return table;
}

std::string grids_html(const std::vector<HeatTable>& grids) {
  if (grids.size() == 1) return heat_table_html(grids.front());
  std::string html = "<div class=\"pair\">\n";
  for (const HeatTable& grid : grids) html += "<div>\n" + heat_table_html(grid) + "</div>\n";
  return html + "</div>\n";
}

std::string share_text(const AnswerShare& share) {
  std::string text = fixed(kPercent * share.accuracy, 2);
  if (share.confidence95) text += " \xC2\xB1 " + fixed(kPercent * *share.confidence95, 2);
  return text + " %";
}

}  // namespace segue::report
