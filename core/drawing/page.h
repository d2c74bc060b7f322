// Builds the HTML page: sections, numbered figures with captions, and tables folded away below. The file needs nothing
// else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/drawing/bars.h"
#include "core/drawing/intervals.h"
#include "core/drawing/plot.h"
#include "core/drawing/table.h"
#include "core/drawing/visible_pairs.h"

namespace segue::report {

using Chart = std::variant<Plot, BarChart, IntervalChart, VisiblePairs>;

struct Figure {
  std::vector<Chart> charts = {};  // one fills the page; several share it
  std::string html = {};           // in place of charts
  std::string caption = {};        // plain text; one sentence or two that say what is seen
  Table table = {};                // the numbers; none when it has no rows
  std::string table_name = "The numbers";
  std::string table_note = {};  // plain text above the table
};

// A drawing as a file of its own.
struct DrawnFile {
  std::string name = {};  // "learning-curves.svg"
  std::string svg = {};
};

struct PageHead {
  std::string kicker = {};  // above the title
  std::string title = {};
  std::string summary = {};     // below it
  int64_t refresh_seconds = 0;  // the page loads itself again; 0: it does not
  std::string made_by = "segue report";
};

class Page {
 public:
  explicit Page(PageHead head) : head_(std::move(head)) {}

  // Texts are plain unless they are called html.
  void section(std::string_view id, std::string_view title);
  void paragraph(std::string_view text);
  void missing(std::string_view what, std::string_view command);  // one quiet sentence: the command would give it
  void figure(const Figure& figure);
  void details(std::string_view summary, std::string_view html);
  void html(std::string_view html) { body_ += html; }

  std::string finish() const;
  const std::vector<DrawnFile>& drawings() const { return drawings_; }

 private:
  std::string contents() const;

  struct Heading {
    std::string id;
    std::string title;
  };

  PageHead head_;
  std::vector<Heading> headings_ = {};
  std::string body_ = {};
  int64_t figures_ = 0;
  std::vector<DrawnFile> drawings_ = {};
};

}  // namespace segue::report
