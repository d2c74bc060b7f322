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
constexpr size_t kMostKeys = 6;
constexpr size_t kMostCellsInRow = 12;

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

// Adds a row, or its name to that of one that reads the same.
void add_row(std::vector<HeatTable::Row>& rows, const HeatTable::Row& row) {
  const auto same = std::ranges::find_if(rows, [&](const HeatTable::Row& one) { return reads_as(one, row); });
  if (same == rows.end())
    rows.push_back(row);
  else
    same->name += ", " + row.name;
}

bool is_as_shaped(const HeatTable& a, const HeatTable& b) {
  return a.corner == b.corner && a.columns == b.columns &&
         std::ranges::equal(a.rows, b.rows, {}, &HeatTable::Row::name, &HeatTable::Row::name);
}

void add_grid(std::vector<HeatTable>& grids, const HeatTable& grid) {
  const auto same = std::ranges::find_if(grids, [&](const HeatTable& one) {
    return is_as_shaped(one, grid) && std::ranges::equal(one.rows, grid.rows, reads_as);
  });
  if (same == grids.end())
    grids.push_back(grid);
  else
    same->title += ", " + grid.title;
}

std::vector<std::vector<HeatTable>> by_shape(const std::vector<HeatTable>& grids) {
  std::vector<std::vector<HeatTable>> groups;
  for (const HeatTable& grid : grids) {
    const auto same = std::ranges::find_if(
        groups, [&](const std::vector<HeatTable>& group) { return is_as_shaped(group.front(), grid); });
    if (same == groups.end())
      groups.push_back({grid});
    else
      same->push_back(grid);
  }
  return groups;
}

// Grids of one shape: a row for each, a column for every cell that some of them have. None where these are too many.
std::optional<HeatTable> in_one_table(const std::vector<HeatTable>& grids) {
  HeatTable table{.corner = grids.front().corner};
  std::vector<HeatTable::Row> rows;
  for (const HeatTable& grid : grids) rows.push_back({.name = grid.title});
  for (size_t r = 0; r < grids.front().rows.size(); ++r) {
    for (size_t c = 0; c < grids.front().columns.size(); ++c) {
      const auto has_it = [&](const HeatTable& grid) { return grid.rows[r].shares[c].has_value(); };
      if (std::ranges::none_of(grids, has_it)) continue;
      table.columns.push_back(grids.front().rows[r].name + " \xC2\xB7 " + grids.front().columns[c]);
      for (size_t g = 0; g < grids.size(); ++g) rows[g].shares.push_back(grids[g].rows[r].shares[c]);
    }
  }
  if (table.columns.size() > kMostCellsInRow) return {};
  for (const HeatTable::Row& row : rows) add_row(table.rows, row);
  return table;
}

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

bool holds_all(const AnswerShare& share) {
  const double half = share.confidence95.value_or(0.0);
  return share.accuracy - half <= 0.0 && share.accuracy + half >= 1.0;
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
      Point& point = series.points.emplace_back(Point{.x = at.x, .y = kPercent * at.share.accuracy});
      point.title = fmt::format("{}\n{} {}\n{}", line.name, x_label, significant(at.x, 3), share_text(at.share));
      if (!holds_all(at.share)) {
        point.spread = kPercent * at.share.confidence95.value_or(0.0);
      } else {
        for (const double accuracy : at.each) point.each.push_back(kPercent * accuracy);
        if (at.each.empty()) point.each = {point.y};  // the band is open there too
      }
      ticks.insert(at.x);
    }
    plot.series.push_back(std::move(series));
  }
  if (ticks.size() <= kMostShareTicks && what != "distance") plot.x_ticks.assign(ticks.begin(), ticks.end());
  return plot;
}

std::vector<AnswerPlot> answer_plots(const std::vector<ExampleKey>& keys, const LinesOf& lines_of,
                                     const std::optional<int64_t>& longest_trained) {
  std::vector<AnswerPlot> plots;
  for (const ExampleKey& key : keys) {
    const auto shares_of = [&key](const Answers& answers) { return shares_by(answers, key); };
    Plot plot = plot_of_shares(key.name(), key.label(), lines_of(shares_of));
    if (!has_points(plot) || plots.size() == kMostKeys) continue;
    const bool is_length = key.trait.empty();
    plot.name = is_length ? "accuracy-by-length" : fmt::format("accuracy-by-trait-{}", plots.size() + 1);
    if (is_length && longest_trained.value_or(0) > 0)
      plot.marks.push_back(
          {static_cast<double>(*longest_trained), fmt::format("trained up to {}", human_count(*longest_trained))});
    plots.push_back({std::move(plot), key});
  }
  Plot by_distance = plot_of_shares("distance", "tokens back to what decides the answer", lines_of(shares_by_distance));
  if (has_points(by_distance)) plots.push_back({std::move(by_distance), {}});
  return plots;
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
  std::vector<HeatTable> tables;
  for (const std::vector<HeatTable>& alike : by_shape(grids)) {
    const std::optional<HeatTable> joined = alike.size() > 1 ? in_one_table(alike) : std::nullopt;
    for (const HeatTable& table : joined ? std::vector{*joined} : alike) add_grid(tables, table);
  }
  if (tables.size() == 1) return heat_table_html(tables.front());
  std::string html = "<div class=\"pair\">\n";
  for (const HeatTable& table : tables) html += "<div>\n" + heat_table_html(table) + "</div>\n";
  return html + "</div>\n";
}

std::string share_text(const AnswerShare& share) {
  std::string text = fixed(kPercent * share.accuracy, 2);
  if (share.confidence95) text += " \xC2\xB1 " + fixed(kPercent * *share.confidence95, 2);
  return text + " %";
}

}  // namespace segue::report
