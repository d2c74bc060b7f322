#include "base/terminal_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include "base/utf8.h"

namespace segue {
namespace {

constexpr std::string_view kErase = "\r\x1b[K";
constexpr int64_t kUsualColumns = 80;

std::atomic<bool> line_is_shown = false;

std::mutex& line_mutex() {
  static std::mutex mutex;
  return mutex;
}

void put(std::string_view text) { static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr)); }

}  // namespace

bool has_terminal() { return ::isatty(STDERR_FILENO) != 0; }

int64_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

std::string_view first_columns(std::string_view text, int64_t columns) {
  size_t end = 0;
  for (int64_t column = 0; column < columns && end < text.size(); ++column) {
    ++end;
    while (end < text.size() && continues_character(text[end])) ++end;
  }
  return text.substr(0, end);
}

void show_line(std::string_view text) {
  const std::lock_guard lock(line_mutex());
  put("\r");
  put(first_columns(text, terminal_columns() - 1));  // in the last column a terminal may have begun the next line
  put("\x1b[K");
  static_cast<void>(std::fflush(stderr));
  line_is_shown = true;
}

void leave_line() {
  const std::lock_guard lock(line_mutex());
  if (line_is_shown.exchange(false)) put("\n");
}

void write_apart(const std::function<void()>& write) {
  const std::lock_guard lock(line_mutex());
  if (line_is_shown.exchange(false)) put(kErase);
  write();
}

std::string_view erasing_line() { return line_is_shown.exchange(false) ? kErase : std::string_view(); }

}  // namespace segue
