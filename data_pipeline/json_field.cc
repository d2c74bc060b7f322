#include "data_pipeline/json_field.h"

#include <fmt/format.h>

namespace segue {
namespace {

bool is_usable(const Json& value) {
  return value.is_string() || (value.is_array() && !value.empty() && value.front().is_number_integer());
}

void add_usable_fields(const Json& object, const std::string& parent, size_t most, std::vector<std::string>& fields) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = parent.empty() ? key : fmt::format("{}.{}", parent, key);
    if (value.is_object()) add_usable_fields(value, path, most, fields);
    if (fields.size() == most) return;
    if (is_usable(value)) fields.push_back(path);
  }
}

}  // namespace

const Json* find_field(const Json& object, std::string_view path) {
  if (!object.is_object()) return nullptr;
  if (const auto found = object.find(std::string(path)); found != object.end()) return &*found;
  for (size_t dot = path.rfind('.'); dot != std::string_view::npos;
       dot = dot == 0 ? dot - 1 : path.rfind('.', dot - 1)) {
    const auto found = object.find(std::string(path.substr(0, dot)));
    if (found == object.end()) continue;
    if (const Json* inner = find_field(*found, path.substr(dot + 1))) return inner;
  }
  return nullptr;
}

std::vector<std::string> usable_fields(const Json& object, size_t most) {
  std::vector<std::string> fields;
  add_usable_fields(object, "", most, fields);
  return fields;
}

}  // namespace segue
