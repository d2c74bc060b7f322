// What is left on a terminal by a line that is rewritten in place, and by what is logged meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/progress.h"
#include "base/terminal_line.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr unsigned short kColumns = 40;
constexpr useconds_t kUntilShown = 250'000;  // a terminal has a new line of progress 0.2 s after the last

void set_columns(unsigned short columns) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(STDERR_FILENO, TIOCSWINSZ, &size), 0);
}

// What a process writes to standard error, which is a terminal.
std::string on_terminal(const std::function<void()>& work) {
  int terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = kColumns, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    work();
    std::_Exit(0);
  }
  std::string output;
  std::vector<char> block(4096);
  for (ssize_t count = 0; (count = ::read(terminal, block.data(), block.size())) > 0;)
    output.append(block.data(), static_cast<size_t>(count));
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(terminal);
  return output;
}

// The rows that such a terminal shows in the end.
std::vector<std::string> rows_of(std::string_view output) {
  std::vector<std::string> rows(1);
  size_t row = 0;
  size_t column = 0;
  const auto go_down = [&] {
    if (++row == rows.size()) rows.emplace_back();
  };
  while (!output.empty()) {
    if (output.starts_with("\x1b[")) {
      const size_t end = output.find_first_of("Km");
      if (output[end] == 'K') rows[row].resize(std::min(rows[row].size(), column));
      output.remove_prefix(end + 1);
      continue;
    }
    const char c = output.front();
    output.remove_prefix(1);
    if (c == '\r') {
      column = 0;
    } else if (c == '\n') {
      go_down();
    } else {
      if (column == kColumns) {
        column = 0;
        go_down();
      }
      rows[row].resize(std::max(rows[row].size(), column + 1), ' ');
      rows[row][column++] = c;
    }
  }
  if (rows.back().empty()) rows.pop_back();
  return rows;
}

TEST(Terminal, ALineIsAsWideAsTheTerminal) {
  const std::string output = on_terminal([] {
    for (const char c : {'a', 'b', 'c'}) show_line(std::string(100, c));
    leave_line();
  });
  EXPECT_THAT(rows_of(output), ElementsAre(std::string(kColumns - 1, 'c')));
}

TEST(Terminal, ALineFollowsTheTerminalsWidth) {
  const std::string output = on_terminal([] {
    set_columns(100);
    show_line("wide: " + std::string(60, 'a'));
    set_columns(20);
    show_line("narrow: " + std::string(60, 'b'));
  });
  EXPECT_THAT(output, HasSubstr("wide: " + std::string(60, 'a') + "\x1b[K"));
  EXPECT_THAT(output, EndsWith("\rnarrow: " + std::string(11, 'b') + "\x1b[K"));
}

TEST(Terminal, CharactersAreNotCut) {
  EXPECT_EQ(first_columns("na\xc3\xafve", 3), "na\xc3\xaf");
  EXPECT_EQ(first_columns("na\xc3\xafve", 9), "na\xc3\xafve");
  EXPECT_EQ(first_columns("na", 0), "");
}

TEST(Terminal, LogLinesStandAlone) {
  const std::string output = on_terminal([] {
    show_line("half of it is done");
    make_logger(false)->warn("odd");
    show_line("all of it is done");
    leave_line();
    make_logger(false)->info("end");
  });
  EXPECT_THAT(rows_of(output),
              ElementsAre(MatchesRegex("2[0-9-]+T[0-9:]+Z W odd"), "all of it is done", MatchesRegex(".*Z I end")));
}

TEST(Terminal, ProgressLeavesOneLine) {
  const std::string output = on_terminal([] {
    Progress progress("learn the vocabulary", 400'000'000, "MB", 1e6);
    for (int64_t part = 1; part <= 4; ++part) {
      ::usleep(kUntilShown);
      progress.advance_to(part * 100'000'000);
      if (part == 2) make_logger(false)->warn("odd");
    }
    progress.finish();
    Progress stopped("prepare", 100, "MB", 1.0);
    ::usleep(kUntilShown);
    stopped.advance_to(50);
  });
  EXPECT_THAT(output, HasSubstr("\rlearn the vocabulary: 25 %, ETA "));
  const std::vector<std::string> rows = rows_of(output);
  ASSERT_GE(rows.size(), 4U) << output;
  EXPECT_THAT(rows[0], HasSubstr(" W odd"));
  EXPECT_THAT(rows[1], MatchesRegex("learn the vocabulary: 400.0 MB in [0-9.]+ s,.*"));
  EXPECT_THAT(rows.back(), MatchesRegex("prepare: 50 %, ETA [0-9.]+ s"));
}

TEST(Terminal, NarrowProgressSaysLess) {
  const Progress progress("packing", 400'000'000, "MB", 1e6);
  EXPECT_EQ(progress.line(100'000'000, 2.0, 59), "packing: 100.0 MB of 400.0 (25 %), 50.0 MB/s, ETA 6.0 s");
  EXPECT_EQ(progress.line(100'000'000, 2.0, 50), "packing: 100.0 MB of 400.0 (25 %), ETA 6.0 s");
  EXPECT_EQ(progress.line(100'000'000, 2.0, 39), "packing: 25 %, ETA 6.0 s");
  EXPECT_EQ(progress.line(100'000'000, 2.0, 20), "25 %, ETA 6.0 s");
  const Progress marked("na\xc3\xafve", 400'000'000, "MB", 1e6);
  EXPECT_EQ(marked.line(100'000'000, 2.0, 22), "na\xc3\xafve: 25 %, ETA 6.0 s");
  EXPECT_EQ(marked.line(100'000'000, 2.0, 21), "25 %, ETA 6.0 s");
  const Progress endless("reading", 0, "MB", 1e6);
  EXPECT_EQ(endless.line(3'000'000, 1.0, 20), "reading: 3.0 MB");
  EXPECT_EQ(endless.line(3'000'000, 1.0, 10), "3.0 MB");
}

}  // namespace
}  // namespace segue
