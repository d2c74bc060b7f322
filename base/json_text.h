// JSON text in and out: strict, bounded parsing of what may be hostile, and one layout for what we write.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace segue {

using Json = nlohmann::json;                 // as read: lookups by key are logarithmic
using OrderedJson = nlohmann::ordered_json;  // as written: keys stay in the order of the description

// Readers of configs, manifests and checkpoints differ in the type they throw: they pass raise_as<ConfigError>, ...
using RaiseError = void (*)(const std::string& message);
template <typename Error>
[[noreturn]] void raise_as(const std::string& message) {
  throw Error("{}", message);
}

struct JsonLimits {
  int64_t max_bytes = int64_t{16} << 20;
  int64_t max_depth = 64;
  int64_t max_values = int64_t{2} << 20;  // each takes some hundred bytes of memory
  bool is_line = false;                   // `source` says which: places in it are columns alone
};

// Refuses, naming `source`: bad syntax (with line and column), text, nesting or values beyond the limits, duplicate
// keys (with their path), numbers no double can hold, anything after the document.
Json parse_json(std::string_view text, std::string_view source, RaiseError raise, const JsonLimits& limits = {});
template <typename Error>
Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits = {}) {
  return parse_json(text, source, &raise_as<Error>, limits);
}

// Two spaces of indentation and a final newline; bytes that are not UTF-8 become the replacement character.
std::string format_json(const OrderedJson& document);

// Pieces of error messages, always one printable line of modest length.
std::string describe_json(const Json& value);                                 // `"four"`, `1.5`, `a list of 3`
std::string join_json_path(std::string_view parent, std::string_view child);  // `model.mem_len`, `shards[3]`
std::string printable_line(std::string_view text, size_t longest);            // other bytes become "?"
std::string index_in_path(int64_t index);                                     // `[3]`

}  // namespace segue
