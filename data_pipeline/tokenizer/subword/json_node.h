// A value of a JSON document that knows its path, for messages.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {

class JsonNode {
 public:
  JsonNode(const Json& value, std::string path, const std::string& source)
      : value_(value), path_(std::move(path)), source_(source) {}

  const Json& value() const { return value_; }
  const std::string& path() const { return path_; }
  const std::string& source() const { return source_; }

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> expected, Args&&... args) const {
    throw DataError("{}: {}: expected {}, found {}", source_, path_, fmt::format(expected, std::forward<Args>(args)...),
                    describe_json(value_));
  }

  JsonNode at(std::string_view key) const {
    if (!value_.is_object()) refuse("an object");
    const auto found = value_.find(key);
    if (found == value_.end()) throw DataError("{}: {}: it is missing", source_, join_json_path(path_, key));
    return {*found, join_json_path(path_, key), source_};
  }
  // Nothing where the key is missing or null.
  std::optional<JsonNode> find(std::string_view key) const {
    if (!value_.is_object()) refuse("an object");
    const auto found = value_.find(key);
    if (found == value_.end() || found->is_null()) return std::nullopt;
    return JsonNode{*found, join_json_path(path_, key), source_};
  }
  void check_keys(std::initializer_list<std::string_view> known) const {
    if (!value_.is_object()) refuse("an object");
    for (const auto& [key, value] : value_.items()) {
      bool is_known = value.is_null();
      for (const std::string_view name : known) is_known |= key == name;
      if (!is_known) throw DataError("{}: {}: no such key is read", source_, join_json_path(path_, key));
    }
  }

  size_t size() const {
    if (!value_.is_array()) refuse("a list");
    return value_.size();
  }
  JsonNode element(size_t index) const {
    return {value_[index], path_ + index_in_path(static_cast<int64_t>(index)), source_};
  }

  const std::string& text() const {
    if (!value_.is_string()) refuse("text");
    return value_.get_ref<const std::string&>();
  }
  bool flag() const {
    if (!value_.is_boolean()) refuse("true or false");
    return value_.get<bool>();
  }
  int64_t integer(int64_t least, int64_t most) const {
    const bool is_whole =
        value_.is_number_integer() && (!value_.is_number_unsigned() || value_.get<uint64_t>() <= INT64_MAX);
    if (!is_whole || value_.get<int64_t>() < least || value_.get<int64_t>() > most)
      refuse("an integer from {} to {}", least, most);
    return value_.get<int64_t>();
  }
  double number() const {
    if (!value_.is_number()) refuse("a number");
    return value_.get<double>();
  }

  std::string text(std::string_view key, std::string_view otherwise) const {
    const std::optional<JsonNode> found = find(key);
    return found ? found->text() : std::string(otherwise);
  }
  bool flag(std::string_view key, bool otherwise) const {
    const std::optional<JsonNode> found = find(key);
    return found ? found->flag() : otherwise;
  }

 private:
  const Json& value_;
  std::string path_;
  const std::string& source_;
};

}  // namespace segue
