// A table of shares by two things at once, each cell shaded by its share.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace segue::report {

struct HeatTable {
  std::string title = {};
  std::string corner = {};  // what rows and columns are
  std::vector<std::string> columns = {};
  struct Row {
    std::string name = {};
    std::vector<std::optional<double>> shares = {};  // from 0 to 1, one for each column; none: nothing was measured
  };
  std::vector<Row> rows = {};
};

// Whether two rows cannot be told apart by their shares, as they are written.
bool reads_as(const HeatTable::Row& a, const HeatTable::Row& b);

std::string heat_table_html(const HeatTable& table);

}  // namespace segue::report
