// The words that messages, help and the schema use for a key.
#include "base/field_info.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace segue {

std::string explained_meaning(const FieldInfo& info) {
  std::string text(info.meaning);
  std::string together;  // words that mean the same
  for (size_t i = 0; i < info.words.size(); ++i) {
    const auto& [word, meaning] = info.words[i];
    if (meaning.empty()) continue;
    together += fmt::format("{}{}", together.empty() ? "" : " and ", word);
    if (i + 1 < info.words.size() && info.words[i + 1].meaning == meaning) continue;
    text += fmt::format("; {}: {}", together, meaning);
    together.clear();
  }
  return text;
}

std::string range_text(const FieldInfo& info) {
  std::string text;
  auto add = [&text](std::string_view relation, double bound) {
    if (!std::isinf(bound)) text += fmt::format("{}{} {}", text.empty() ? "" : " and ", relation, bound);
  };
  add(">=", info.minimum);
  add(">", info.above);
  add("<=", info.maximum);
  add("<", info.below);
  return text;
}

bool is_in_range(double value, const FieldInfo& info) {
  return value >= info.minimum && value <= info.maximum && value > info.above && value < info.below;
}

std::string expected_number(std::string_view kind, const FieldInfo& info) {
  const std::string range = range_text(info);
  return fmt::format("{}{}{}", kind, range.empty() ? "" : " ", range);
}

}  // namespace segue
