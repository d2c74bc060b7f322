#include "base/json_override.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"

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

// The numbers of "[3][0]"; nothing for other text.
std::optional<std::vector<size_t>> parse_indices(std::string_view text) {
  std::vector<size_t> indices;
  while (!text.empty()) {
    size_t index = 0;
    const size_t close = text.find(']');
    if (text.front() != '[' || close == std::string_view::npos) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + close, index);
    if (error != std::errc() || end != text.data() + close) return std::nullopt;
    indices.push_back(index);
    text.remove_prefix(close + 1);
  }
  return indices;
}

// "patterns[0].stride" as patterns, 0 and stride. What has no name before its brackets is a key as it stands.
std::vector<Override::Step> parse_path(std::string_view keys, std::string_view source) {
  std::vector<Override::Step> path;
  for (bool is_last = false; !is_last;) {
    const size_t dot = keys.find('.');
    is_last = dot == std::string_view::npos;
    const std::string_view part = keys.substr(0, dot);
    const size_t open = std::min(part.find('['), part.size());
    const auto indices = parse_indices(part.substr(open));
    const bool has_name = open > 0 && std::ranges::all_of(part.substr(0, open), [](char c) {
                            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
                          });
    if (!indices && has_name)
      throw ConfigError("{}: expected the number of an element, from 0 on, as in {}[0], found {}", source,
                        printable_line(part.substr(0, open), kLongestShown),
                        printable_line(part.substr(open), kLongestShown));
    path.emplace_back(std::string(indices ? part.substr(0, open) : part));
    if (indices) path.insert(path.end(), indices->begin(), indices->end());
    if (!is_last) keys.remove_prefix(dot + 1);
  }
  return path;
}

std::string text_of(std::span<const Override::Step> path) {
  std::string text;
  for (const Override::Step& step : path) {
    if (const auto* key = std::get_if<std::string>(&step))
      text = join_json_path(text, *key);
    else
      text += index_in_path(static_cast<int64_t>(std::get<size_t>(step)));
  }
  return text;
}

// An object's keys go into the object that is there; anything else replaces what is there.
void merge(Json& into, const Json& value) {
  if (!value.is_object() || !into.is_object()) {
    into = value;
    return;
  }
  for (const auto& [key, part] : value.items()) merge(into[key], part);
}

// A key of the path that leads into a list.
[[noreturn]] void refuse_key(const Override& change, size_t step) {
  const std::span<const Override::Step> path(change.path);
  const std::string list = text_of(path.first(step));
  const auto& key = std::get<std::string>(path[step]);
  const bool is_index = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
  const std::string rest = text_of(path.subspan(is_index ? step + 1 : step));
  throw ConfigError("{}: {}: expected an element of the list, as in {}[{}]{}{}, found the key {}", change.source, list,
                    list, is_index ? key : "0", rest.empty() || rest.starts_with('[') ? "" : ".", rest, key);
}

// An index of the path that what is `found` there does not have.
[[noreturn]] void refuse_index(const Override& change, size_t step, const Json& found) {
  const std::span<const Override::Step> path(change.path);
  const std::string list = text_of(path.first(step));
  const size_t index = std::get<size_t>(path[step]);
  if (found.is_array() && !found.empty())
    throw ConfigError("{}: {}: expected an element from {}[0] to {}[{}], as the file has, found [{}]", change.source,
                      list, list, list, found.size() - 1, index);
  const Override element{
      .source = {}, .path = {path.begin() + static_cast<std::ptrdiff_t>(step) + 1, path.end()}, .value = change.value};
  const Json whole = Json::array({element.document()});
  throw ConfigError(
      "{}: {}: expected a list of more than {} elements in the file, found {}; give the whole list: "
      "--set {}",
      change.source, list, index, found.is_null() || found.is_array() ? "none" : describe_json(found),
      shell_word(fmt::format("{}={}", list, whole.dump())));
}

void add_keys(const Json& value, const std::string& path, std::vector<std::string>& keys) {
  if (!value.is_object() || value.empty()) return keys.push_back(path);
  for (const auto& [key, part] : value.items()) add_keys(part, join_json_path(path, key), keys);
}

}  // namespace

Json Override::document() const {
  Json document = value;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    Json parent;
    if (const auto* key = std::get_if<std::string>(&*step))
      parent[*key] = std::move(document);
    else
      parent.push_back(std::move(document));
    document = std::move(parent);
  }
  return document;
}

std::string override_source(const std::string& text, std::string_view given) {
  return fmt::format("{} {}", given, printable_line(text, kLongestShown));
}

Override parse_override(const std::string& text, std::string_view given, std::string_view example) {
  std::string source = override_source(text, given);
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError("{}: expected KEY=VALUE, as in {}", source, example);
  Json value = parse_value(std::string_view(text).substr(equals + 1), source);
  std::vector<Override::Step> path = parse_path(std::string_view(text).substr(0, equals), source);
  return {.source = std::move(source), .path = std::move(path), .value = std::move(value)};
}

void apply_override(const Override& change, Json& document) {
  Json* at = &document;
  for (size_t i = 0; i < change.path.size(); ++i) {
    if (const auto* key = std::get_if<std::string>(&change.path[i])) {
      if (at->is_array()) refuse_key(change, i);
      if (!at->is_object()) *at = Json::object();
      at = &(*at)[*key];
      continue;
    }
    const size_t index = std::get<size_t>(change.path[i]);
    if (index >= (at->is_array() ? at->size() : 0)) refuse_index(change, i, *at);
    at = &(*at)[index];
  }
  merge(*at, change.value);
}

std::vector<std::string> keys_of(const Override& change) {
  std::vector<std::string> keys;
  add_keys(change.value, text_of(change.path), keys);
  return keys;
}

std::string blamed_source(std::string_view file, std::span<const std::string> overrides, const RuleHolds& holds) {
  const auto with = [file](std::span<const std::string> blamed) {
    std::string source(file);
    for (const std::string& text : blamed)
      source += fmt::format("{}{}", source.size() == file.size() ? " with " : " ", override_source(text));
    return source;
  };
  for (size_t i = overrides.size(); i-- > 0;) {
    std::vector<std::string> others(overrides.begin(), overrides.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (holds(others)) return with(overrides.subspan(i, 1));
  }
  return holds({}) ? with(overrides) : std::string(file);
}

Json parse_overridable(std::string_view text, std::string_view source, DocumentKind kind) {
  Json document = parse_json<ConfigError>(text, source, {.max_bytes = kLargestOverridden});
  check_document_kind<ConfigError>(document, source, kind);
  if (!document.is_object()) return document;
  const auto schema = document.find(kSchemaKey);
  if (schema == document.end()) return document;
  if (!schema->is_string())
    throw ConfigError("{}: {}: expected a string, found {}", source, kSchemaKey, describe_json(*schema));
  document.erase(schema);
  return document;
}

}  // namespace segue
