#include "core/report/json_node.h"

#include <fmt/format.h>

#include "base/error.h"

namespace segue::report {

void JsonNode::refuse(std::string_view expected) const {
  throw DataError("{}: {}: expected {}, found {}", source_, path_.empty() ? "the document" : path_, expected,
                  describe_json(*value_));
}

JsonNode JsonNode::at(std::string_view key) const {
  if (!value_->is_object()) refuse("an object");
  const auto member = value_->find(std::string(key));
  if (member == value_->end())
    throw DataError("{}: expected the key {}, found none", source_, join_json_path(path_, key));
  return {*member, source_, join_json_path(path_, key)};
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) refuse("an object");
  const auto member = value_->find(std::string(key));
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return JsonNode(*member, source_, join_json_path(path_, key));
}

std::vector<JsonNode> JsonNode::elements() const {
  if (!value_->is_array()) refuse("a list");
  std::vector<JsonNode> elements;
  elements.reserve(value_->size());
  for (const Json& element : *value_)
    elements.emplace_back(element, source_, path_ + index_in_path(std::ssize(elements)));
  return elements;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) refuse("an object");
  std::vector<std::pair<std::string, JsonNode>> members;
  for (const auto& [key, member] : value_->items())
    members.emplace_back(key, JsonNode(member, source_, join_json_path(path_, key)));
  return members;
}

double JsonNode::number() const {
  if (!value_->is_number()) refuse("a number");
  return value_->get<double>();
}

int64_t JsonNode::integer() const {
  if (!value_->is_number_integer()) refuse("an integer");
  return value_->get<int64_t>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

const std::string& JsonNode::text() const {
  if (!value_->is_string()) refuse("a string");
  return value_->get_ref<const std::string&>();
}

std::optional<double> JsonNode::find_number(std::string_view key) const {
  const std::optional<JsonNode> member = find(key);
  return member ? std::optional(member->number()) : std::nullopt;
}

std::optional<int64_t> JsonNode::find_integer(std::string_view key) const {
  const std::optional<JsonNode> member = find(key);
  return member ? std::optional(member->integer()) : std::nullopt;
}

std::string JsonNode::find_text(std::string_view key) const {
  const std::optional<JsonNode> member = find(key);
  return member ? member->text() : "";
}

void check_format(const JsonNode& document, std::string_view format, int64_t version) {
  if (const JsonNode found = document.at("format"); found.text() != format) found.refuse(fmt::format("\"{}\"", format));
  if (const JsonNode found = document.at("version"); found.integer() != version)
    found.refuse(
        fmt::format("{}{}", version, found.integer() > version ? " (a newer Segue wrote it; use that one)" : ""));
}

}  // namespace segue::report
