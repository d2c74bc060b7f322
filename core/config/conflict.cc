#include "core/config/conflict.h"

#include <fmt/format.h>

#include "base/error.h"

namespace segue {

void throw_conflict(const Conflict& conflict, std::string_view source) {
  const auto& [key, expected, reason, with, found] = conflict;
  const std::string before = reason.before.empty() ? "" : fmt::format(", {},", reason.before);
  const std::string behind = reason.behind.empty() ? "," : fmt::format(", {};", reason.behind);
  throw ConfigError("{}: {}: expected {}{} with {}{} found {}", source, key, expected, before,
                    reason.with.empty() ? with : reason.with, behind, found);
}

std::string in_quotes(std::string_view word) { return fmt::format(R"("{}")", word); }

}  // namespace segue
