// The error message for two config values that do not go together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace segue {

// Why it does not.
struct Reason {
  std::string_view because = {};  // a sentence without its dot: "every token reads all memory tokens"
  std::string_view with = {};     // what the value does not go with, where it differs from Conflict::with
};

// "KEY: expected EXPECTED with WITH, found FOUND; BECAUSE". Without a reason the sentence ends at FOUND.
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
std::string listed_in_quotes(const std::vector<std::string_view>& words);  // "causal", "full" or "window"

}  // namespace segue
