#include "core/report/run_report.h"

#include <algorithm>
#include <exception>

#include "base/file.h"
#include "core/report/report.h"

namespace segue::report {

namespace {

constexpr std::chrono::seconds kInterval{10};
constexpr int kShare = 50;  // the page takes at most one part in so many of the time

}  // namespace

void RunReport::update() {
  const auto start = std::chrono::steady_clock::now();
  if (start < next_) return;
  write(kInterval);
  const auto end = std::chrono::steady_clock::now();
  next_ = end + std::max<std::chrono::steady_clock::duration>(kInterval, kShare * (end - start));
}

void RunReport::finish() { write(std::chrono::seconds(0)); }

void RunReport::write(std::chrono::seconds refresh) {
  try {
    const Report report = make_report({.runs = {run_}, .refresh_seconds = refresh.count()});
    write_file_atomically(run_ / "report.html", report.html);
  } catch (const std::exception& error) {
    logger_.warn("no report: {}", error.what());
  }
}

}  // namespace segue::report
