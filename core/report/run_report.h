// The report of a run in progress: RUN/report.html, written again as the run proceeds.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/log.h"

namespace segue::report {

// A page that cannot be written is a warning: the run continues.
class RunReport {
 public:
  RunReport(std::filesystem::path run, Logger& logger) : run_(std::move(run)), logger_(logger) {}

  // The page as of now, which loads itself again. Not sooner than ten seconds after the last one, nor before fifty
  // times what that took.
  void update();

  // The page as it stays.
  void finish();

 private:
  void write(std::chrono::seconds refresh);

  std::filesystem::path run_;
  Logger& logger_;
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace segue::report
