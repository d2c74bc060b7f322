// The progress line.
#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/text.h"

namespace segue {

Progress::Progress(std::string what, int64_t total, std::string unit, double unit_size, bool quiet)
    : what_(std::move(what)),
      total_(total),
      unit_(std::move(unit)),
      unit_size_(unit_size),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_ && shown_ && !finished_) static_cast<void>(std::fputs("\n", stderr));
}

std::string Progress::line(int64_t done, double seconds) const {
  const double rate = seconds > 0.0 ? static_cast<double>(done) / seconds : 0.0;
  std::string text = fmt::format("{}: {:.1f} {}", what_, static_cast<double>(done) / unit_size_, unit_);
  if (total_ > 0) {
    text += fmt::format(" of {:.1f} ({:.0f} %)", static_cast<double>(total_) / unit_size_,
                        100.0 * static_cast<double>(done) / static_cast<double>(total_));
  }
  text += fmt::format(", {:.1f} {}/s", rate / unit_size_, unit_);
  if (total_ > done && rate > 0.0) text += ", ETA " + human_duration(static_cast<double>(total_ - done) / rate);
  return text;
}

void Progress::advance_to(int64_t done) {
  done_ = done;
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? 0.2 : 10.0)) return;
  last_ = now;
  shown_ = true;
  const std::string text = line(done, std::chrono::duration<double>(now - start_).count());
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r" : "", text, terminal_ ? "\x1b[K" : "\n");
}

void Progress::finish() {
  if (std::exchange(finished_, true) || quiet_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  fmt::print(stderr, "{}{}: {:.1f} {} in {}, {:.1f} {}/s{}\n", terminal_ ? "\r" : "", what_,
             static_cast<double>(done_) / unit_size_, unit_, human_duration(seconds),
             seconds > 0.0 ? static_cast<double>(done_) / unit_size_ / seconds : 0.0, unit_, terminal_ ? "\x1b[K" : "");
}

}  // namespace segue
