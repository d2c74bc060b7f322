// The line at the bottom of a terminal that is rewritten in place, on standard error. A process has one at most, and
// whatever else it writes there begins on a line of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace segue {

// Whether standard error is a terminal. Without one nothing is shown.
bool has_terminal();

// Columns of that terminal at this moment; 80 where nobody can tell.
int64_t terminal_columns();

// The first characters of UTF-8 text, each taken to be one column wide.
std::string_view first_columns(std::string_view text, int64_t columns);

// Shows a line in place of the last one, cut to the terminal's width.
void show_line(std::string_view text);

// Leaves what is shown where it is and begins a line below it.
void leave_line();

// Calls `write`, which writes whole lines to standard error, where no line is shown. No line is shown meanwhile.
void write_apart(const std::function<void()>& write);

// What erases the line that is shown, or nothing, for whoever may not wait.
std::string_view erasing_line();

}  // namespace segue
