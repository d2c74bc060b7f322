// Progress of long work: share done, rate and time left, on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace segue {

// One line rewritten in place on a terminal, as wide as that is, or a line every ten seconds into a file.
class Progress {
 public:
  // `total` in units (bytes, tokens, steps); 0 when unknown. `unit` as in "MB" with `unit_size` units each.
  Progress(std::string what, int64_t total, std::string unit, double unit_size, bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance_to(int64_t done);
  void finish();  // leaves the last line with the mean rate

  // The line shown when `done` units took `seconds`: of several that say less and less, the first of at most `columns`.
  std::string line(int64_t done, double seconds, int64_t columns = kAnyColumns) const;

 private:
  static constexpr int64_t kAnyColumns = 1000;
  using Clock = std::chrono::steady_clock;
  std::string what_;
  int64_t total_;
  std::string unit_;
  double unit_size_;
  bool quiet_;
  bool terminal_;
  int64_t done_ = 0;
  bool shown_ = false;
  bool finished_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace segue
