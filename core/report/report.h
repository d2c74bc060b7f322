// The report of one or several runs: one page that needs no network and no script.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/drawing/page.h"

namespace segue::report {

struct ReportOptions {
  std::vector<std::filesystem::path> runs = {};                 // at least one
  std::optional<std::filesystem::path> effective_context = {};  // effective_context.json
  std::optional<std::filesystem::path> verdict = {};            // text that stands first on the page
  int64_t refresh_seconds = 0;  // the page loads itself again while a run is active; 0: not
};

struct Report {
  std::string html = {};
  std::vector<DrawnFile> drawings = {};  // each plot by itself, in light colours
};

// Throws what read_run and read_effective_context throw.
Report make_report(const ReportOptions& options);

}  // namespace segue::report
