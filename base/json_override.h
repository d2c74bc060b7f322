// Files of JSON with overrides from the command line: --set KEY=VALUE.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/document_kind.h"
#include "base/error.h"
#include "base/json_fields.h"
#include "base/json_text.h"

namespace segue {

constexpr int64_t kLargestOverridden = int64_t{1} << 20;  // bytes of such a file
constexpr const char* kSchemaKey = "$schema";             // of a file; editors complete from the schema it names

// "model.visibility.patterns[0].stride=4": the way from the root of a document to a value.
struct Override {
  using Step = std::variant<std::string, size_t>;  // a key, or an element of a list
  std::string source;                              // "--set model.mem_len=256", for errors
  std::vector<Step> path;
  Json value;

  // The value alone, in the objects that lead to it; of a list it has the one element that is named.
  Json document() const;
};

// "--set model.mem_len=256", for errors; `given` is what it was given as.
std::string override_source(const std::string& text, std::string_view given = "--set");

// The value is JSON, or a string as it stands. Throws ConfigError where that is not KEY=VALUE, with such an example.
Override parse_override(const std::string& text, std::string_view given, std::string_view example);

// Puts the value into the document; the keys of an object replace those they are named after. Throws ConfigError where
// the path leads to an element that a list does not have.
void apply_override(const Override& change, Json& document);

// The keys of all values: "model.mem_len", "model.head.cutoffs", "model.visibility.patterns[0].stride".
std::vector<std::string> keys_of(const Override& change);

// Who is to blame for a broken rule, for errors: "FILE with --set KEY=VALUE" when there is one override without which
// the rule `holds`, with all of them when it holds without any, otherwise the file.
using RuleHolds = std::function<bool(std::span<const std::string> overrides)>;
std::string blamed_source(std::string_view file, std::span<const std::string> overrides, const RuleHolds& holds);

// What `read` makes of the overrides; when a rule is broken, the error names who is to blame.
template <typename T>
T read_overridden(std::string_view file, std::span<const std::string> overrides,
                  const std::function<T(std::span<const std::string> overrides, std::string_view source)>& read) {
  const auto holds = [&](std::span<const std::string> some) {
    try {
      static_cast<void>(read(some, file));
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  };
  try {
    return read(overrides, file);
  } catch (const ConfigError&) {
    if (overrides.empty()) throw;
  }
  return read(overrides, blamed_source(file, overrides, holds));
}

// The text of a file of this kind as JSON, without the schema that it names. Throws ConfigError, also for a file that
// another command reads.
Json parse_overridable(std::string_view text, std::string_view source, DocumentKind kind);

// Throws ConfigError, naming `source`, for keys, types and ranges that T does not have.
template <DescribedStruct T>
void check_keys(const Json& document, std::string_view source) {
  T scratch;
  read_fields_into<ConfigError>(scratch, document, source, ReadMode::kPresentKeys);
}

// The document with every override in it, each checked before the next, so that errors name the one that is wrong.
template <DescribedStruct T>
Json apply_overrides(Json document, std::string_view source, std::span<const std::string> overrides,
                     std::string_view example) {
  check_keys<T>(document, source);
  for (const std::string& override_text : overrides) {
    const Override change = parse_override(override_text, "--set", example);
    apply_override(change, document);
    check_keys<T>(document, change.source);
  }
  return document;
}

}  // namespace segue
