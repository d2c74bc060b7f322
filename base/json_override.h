// Files of JSON with overrides from the command line: --set KEY=VALUE.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/json_text.h"

namespace segue {

constexpr int64_t kLargestOverridden = int64_t{1} << 20;  // bytes of such a file
constexpr const char* kSchemaKey = "$schema";             // of a file; editors complete from the schema it names

// "--set model.mem_len=256", for errors; `given` is what it was given as.
std::string override_source(const std::string& text, std::string_view given = "--set");

// "model.mem_len=256" as {"model": {"mem_len": 256}}. The value is JSON, or a string as it stands. Throws ConfigError
// where that is not KEY=VALUE, with such an example of it.
Json parse_override(const std::string& text, std::string_view given, std::string_view example);

// The text of a file as JSON, without the schema that it names. Throws ConfigError.
Json parse_with_schema(std::string_view text, std::string_view source);

// Throws ConfigError, naming `source`, for keys, types and ranges that T does not have.
template <DescribedStruct T>
void check_keys(const Json& document, std::string_view source) {
  T scratch;
  read_fields_into<ConfigError>(scratch, document, source, ReadMode::kPresentKeys);
}

// The text with every override in it, each checked alone, so that errors name the one that is wrong.
template <DescribedStruct T>
Json parse_with_overrides(std::string_view text, std::string_view source, std::span<const std::string> overrides,
                          std::string_view example) {
  Json document = parse_with_schema(text, source);
  check_keys<T>(document, source);
  for (const std::string& override_text : overrides) {
    const Json part = parse_override(override_text, "--set", example);
    check_keys<T>(part, override_source(override_text));
    document.merge_patch(part);
  }
  return document;
}

}  // namespace segue
