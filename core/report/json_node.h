// One value of a file made by another command: what is needed is asked for by key, other keys are passed over. Every
// error is a DataError that names file, key, what was expected and what was found. Numbers are finite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"

namespace segue::report {

class JsonNode {
 public:
  // The root of a document that outlives the node; `source` is what errors call the file.
  JsonNode(const Json& value, std::string source, std::string path = "")
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}

  JsonNode at(std::string_view key) const;
  std::optional<JsonNode> find(std::string_view key) const;  // absent also when null
  std::vector<JsonNode> elements() const;
  std::vector<std::pair<std::string, JsonNode>> members() const;

  bool is_null() const { return value_->is_null(); }
  bool is_text() const { return value_->is_string(); }
  double number() const;
  int64_t integer() const;
  bool boolean() const;
  const std::string& text() const;

  // The value of the member, when it is there.
  std::optional<double> find_number(std::string_view key) const;
  std::optional<int64_t> find_integer(std::string_view key) const;
  std::string find_text(std::string_view key) const;  // empty when absent

  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  const Json* value_;
  std::string source_;
  std::string path_;
};

// Throws DataError when the document is not of this format and version.
void check_format(const JsonNode& document, std::string_view format, int64_t version);

}  // namespace segue::report
