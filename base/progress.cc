#include "base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/terminal_line.h"
#include "base/text.h"
#include "base/utf8.h"

namespace segue {

Progress::Progress(std::string what, int64_t total, std::string unit, double unit_size, bool quiet)
    : what_(std::move(what)),
      total_(total),
      unit_(std::move(unit)),
      unit_size_(unit_size),
      quiet_(quiet),
      terminal_(has_terminal()) {}

Progress::~Progress() {
  if (terminal_ && shown_ && !finished_) leave_line();
}

std::string Progress::line(int64_t done, double seconds, int64_t columns) const {
  const double rate = seconds > 0.0 ? static_cast<double>(done) / seconds : 0.0;
  const std::string amount = fmt::format("{:.1f} {}", static_cast<double>(done) / unit_size_, unit_);
  const std::string rate_text = fmt::format(", {:.1f} {}/s", rate / unit_size_, unit_);
  std::vector<std::string> lines;
  if (total_ > 0) {
    const std::string share = fmt::format("{:.0f} %", 100.0 * static_cast<double>(done) / static_cast<double>(total_));
    const std::string whole =
        fmt::format("{}: {} of {:.1f} ({})", what_, amount, static_cast<double>(total_) / unit_size_, share);
    const std::string eta = total_ > done && rate > 0.0
                                ? ", ETA " + human_duration(static_cast<double>(total_ - done) / rate)
                                : std::string();
    lines = {whole + rate_text + eta, whole + eta, fmt::format("{}: {}{}", what_, share, eta), share + eta};
  } else {
    lines = {fmt::format("{}: {}{}", what_, amount, rate_text), fmt::format("{}: {}", what_, amount), amount};
  }
  const auto fits = [columns](const std::string& line) { return columns_of_text(line) <= columns; };
  const auto first = std::ranges::find_if(lines, fits);
  return first == lines.end() ? lines.back() : *first;
}

void Progress::advance_to(int64_t done) {
  done_ = done;
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? 0.2 : 10.0)) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (terminal_) return show_line(line(done, seconds, terminal_columns() - 1));
  fmt::print(stderr, "{}\n", line(done, seconds));
}

void Progress::finish() {
  if (std::exchange(finished_, true) || quiet_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  write_apart([&] {
    fmt::print(stderr, "{}: {:.1f} {} in {}, {:.1f} {}/s\n", what_, static_cast<double>(done_) / unit_size_, unit_,
               human_duration(seconds), seconds > 0.0 ? static_cast<double>(done_) / unit_size_ / seconds : 0.0, unit_);
  });
}

}  // namespace segue
