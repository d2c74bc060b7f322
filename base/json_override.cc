// Overrides as JSON.
#include "base/json_override.h"

#include <utility>

namespace segue {

namespace {

constexpr size_t kLongestShown = 120;  // of an override, in errors

// Any JSON; text that does not begin like a structure or a quoted string, and is no JSON, is a string as it stands.
Json parse_value(std::string_view text, std::string_view source) {
  const bool structured = !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"');
  if (structured || Json::accept(text)) return parse_json<ConfigError>(text, source);
  Json value = std::string(text);
  return value;
}

}  // namespace

std::string override_source(const std::string& text, std::string_view given) {
  return fmt::format("{} {}", given, printable_line(text, kLongestShown));
}

Json parse_override(const std::string& text, std::string_view given, std::string_view example) {
  const std::string source = override_source(text, given);
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError("{}: expected KEY=VALUE, as in {}", source, example);
  Json document = parse_value(std::string_view(text).substr(equals + 1), source);
  std::string_view keys = std::string_view(text).substr(0, equals);
  while (true) {
    const size_t dot = keys.rfind('.');
    const std::string innermost(keys.substr(dot + 1));  // npos + 1 is 0
    Json parent = Json::object();
    parent[innermost] = std::move(document);
    document = std::move(parent);
    if (dot == std::string_view::npos) break;
    keys = keys.substr(0, dot);
  }
  return document;
}

Json parse_with_schema(std::string_view text, std::string_view source) {
  Json document = parse_json<ConfigError>(text, source, {.max_bytes = kLargestOverridden});
  if (!document.is_object()) return document;
  const auto schema = document.find(kSchemaKey);
  if (schema == document.end()) return document;
  if (!schema->is_string())
    throw ConfigError("{}: {}: expected a string, found {}", source, kSchemaKey, describe_json(*schema));
  document.erase(schema);
  return document;
}

}  // namespace segue
