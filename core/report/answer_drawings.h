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

// In per cent, half of the interval of a share; 0 where it would hold every share, as that of seeds does of which one
// found the answers and another did not: drawn, it would hide the others.
double drawn_spread(const AnswerShare& share);

Plot plot_of_shares(const std::string& what, const std::string& x_label, const std::vector<AnswerLine>& lines);

// Marks what training never reached in a plot by length.
void mark_longest_trained(Plot& plot, const std::optional<int64_t>& tokens);

// Rows by the trait, columns by the length. None where one follows from the other, or where there would be too many of
// them to read.
std::optional<HeatTable> grid_of(const Answers& answers, const std::string& trait);

// Beside one another where there is room.
std::string grids_html(const std::vector<HeatTable>& grids);

// "93.21 ± 0.45 %"
std::string share_text(const AnswerShare& share);

}  // namespace segue::report
