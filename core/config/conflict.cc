#include "core/config/conflict.h"

#include <fmt/format.h>

#include "base/error.h"

namespace segue {

void throw_conflict(const Conflict& conflict, std::string_view source) {
  const auto& [key, expected, reason, with, found] = conflict;
  const std::string because = reason.because.empty() ? "" : fmt::format("; {}", reason.because);
  throw ConfigError("{}: {}: expected {} with {}, found {}{}", source, key, expected,
                    reason.with.empty() ? with : reason.with, found, because);
}

std::string in_quotes(std::string_view word) { return fmt::format(R"("{}")", word); }

std::string listed_in_quotes(const std::vector<std::string_view>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += in_quotes(words[i]);
  }
  return text;
}

}  // namespace segue
