// Drawings of how many answers of marked data are right: by what the examples ask for, by their length, by distance,
// and by two of these at once. The report has a line for every result, a comparison one for every variant.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/drawing/heat_table.h"
#include "core/drawing/plot.h"
#include "core/report/evaluation_file.h"

namespace segue::report {

inline constexpr double kPercent = 100.0;

// The share of right answers where examples are of a kind.
struct ShareAt {
  double x = 0.0;
  AnswerShare share = {};
  std::vector<double> each = {};  // accuracies that the share is the mean of; none: it is no mean
};

// From the smallest x on.
using Shares = std::vector<ShareAt>;

// What examples are told apart by.
struct ExampleKey {
  std::string trait = {};  // empty: their length in tokens
  std::string name() const { return trait.empty() ? "length" : trait; }
  std::string label() const { return trait.empty() ? "tokens of an example" : trait; }
};

// Those that are not the same for all examples: first the traits, then the length.
std::vector<ExampleKey> varying_keys(const Answers& answers);

// Examples without the trait are left out. Intervals are of texts that are independent.
Shares shares_by(const Answers& answers, const ExampleKey& key);
Shares shares_by_distance(const Answers& answers);

// One line of a plot.
struct AnswerLine {
  std::string name = {};
  int64_t colour = 0;
  Shares shares = {};
};

// Whether its interval would hold every share, as that of seeds does of which one found the answers and another did
// not: drawn, it would hide the others.
bool holds_all(const AnswerShare& share);

Plot plot_of_shares(const std::string& what, const std::string& x_label, const std::vector<AnswerLine>& lines);

// The lines of a plot, by how the answers of each are shared out.
using SharesOf = std::function<Shares(const Answers&)>;
using LinesOf = std::function<std::vector<AnswerLine>(const SharesOf&)>;

// One of the plots of the same answers.
struct AnswerPlot {
  Plot plot = {};
  std::optional<ExampleKey> key = {};  // none: by distance
};

// By the first of these keys, and by distance, as far as there is something to draw. What training never reached is
// marked in that by length.
std::vector<AnswerPlot> answer_plots(const std::vector<ExampleKey>& keys, const LinesOf& lines_of,
                                     const std::optional<int64_t>& longest_trained);

// Rows by the trait, columns by the length. None where one follows from the other, or where there would be too many of
// them to read.
std::optional<HeatTable> grid_of(const Answers& answers, const std::string& trait);

// Those of the same rows and columns as one table with a row for each where that has no more columns than can be read,
// or else beside one another where there is room. What reads the same is shown once, with the names of all.
std::string grids_html(const std::vector<HeatTable>& grids);

// "93.21 ± 0.45 %"
std::string share_text(const AnswerShare& share);

}  // namespace segue::report
