// The sentence for a value that does not go with another one.
#pragma once

#include <string>
#include <string_view>

namespace segue {

// Why it does not, in words that stand before or behind what it does not go with.
struct Reason {
  std::string_view before = {};  // "as every token reads all memory tokens"
  std::string_view behind = {};  // "whose oldest rows no query would see"
  std::string_view with = {};    // what it does not go with, where it is another than Conflict says
};

// "KEY: expected EXPECTED with WITH, found FOUND"; with words before, "expected EXPECTED, BEFORE, with WITH, found
// FOUND"; with words behind, "expected EXPECTED with WITH, BEHIND; found FOUND".
struct Conflict {
  std::string_view key;
  std::string_view expected;
  Reason reason = {};
  std::string_view with;  // `model.memory.kind = "tokens"`
  std::string_view found;
};

// Throws it as a ConfigError that names `source`.
[[noreturn]] void throw_conflict(const Conflict& conflict, std::string_view source);

std::string in_quotes(std::string_view word);

}  // namespace segue
