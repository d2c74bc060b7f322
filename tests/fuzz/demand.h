// The demand of fuzzers on the code they try: an input that breaks it ends the process.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace segue {

inline void demand(bool condition) {
  if (!condition) std::abort();
}

inline void demand_one_line(std::string_view text) {
  demand(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; }));
}

// An error's message, in one printable line that begins with the name of what was read.
inline void demand_message(std::string_view message, std::string_view source = "fuzz: ") {
  demand(message.starts_with(source));
  demand_one_line(message);
}

}  // namespace segue
