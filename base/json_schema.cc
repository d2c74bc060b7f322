// Gives the JSON Schema of a described struct.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/json_fields.h"

namespace segue {
namespace {

class SchemaMaker : public JsonFields {
 public:
  OrderedJson make(const Describe& describe) {
    begin_struct();
    describe(*this);
    end_struct();
    return std::move(root_);
  }

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool required, bool /*is_struct*/) override {
    OrderedJson& object = *nodes_.back();
    if (required) object["required"].push_back(key);
    nodes_.push_back(&object["properties"][std::string(key)]);
    OrderedJson& node = *nodes_.back();
    std::vector<std::string> details;
    if (!info.kinds.are_all()) details.push_back(fmt::format("kinds: {}", fmt::join(readers_of(info), ", ")));
    if (!info.unit.empty()) details.push_back(fmt::format("unit: {}", info.unit));
    node["description"] = details.empty() ? explained_meaning(info)
                                          : fmt::format("{} ({})", explained_meaning(info), fmt::join(details, "; "));
    if (!info.role.empty()) node["x-role"] = info.role;
    if (!info.kinds.are_all()) node["x-kinds"] = readers_of(info);
    return true;
  }
  void enter_element(int64_t /*index*/) override { nodes_.push_back(&(*nodes_.back())["items"]); }
  void leave() override { nodes_.pop_back(); }

  void visit_bool(bool& /*value*/) override { (*nodes_.back())["type"] = "boolean"; }
  void visit_integer(int64_t& /*value*/, const FieldInfo& info) override { set_number("integer", info); }
  void visit_number(double& /*value*/, const FieldInfo& info) override { set_number("number", info); }
  void visit_text(std::string& /*value*/) override { (*nodes_.back())["type"] = "string"; }
  void visit_choice(size_t& /*index*/, std::span<const std::string_view> names) override {
    (*nodes_.back())["enum"] = OrderedJson(std::vector<std::string>(names.begin(), names.end()));
  }
  int64_t visit_list(int64_t /*size*/) override {
    (*nodes_.back())["type"] = "array";
    return 1;  // one element shows what all are like
  }
  void begin_struct() override {
    (*nodes_.back())["type"] = "object";
    (*nodes_.back())["properties"] = OrderedJson::object();
  }
  void end_struct() override { (*nodes_.back())["additionalProperties"] = false; }

 private:
  void set_number(std::string_view type, const FieldInfo& info) {
    (*nodes_.back())["type"] = type;
    set_bound("minimum", info.minimum, type);
    set_bound("exclusiveMinimum", info.above, type);
    set_bound("maximum", info.maximum, type);
    set_bound("exclusiveMaximum", info.below, type);
  }

  void set_bound(const std::string& keyword, double bound, std::string_view type) {
    if (std::isinf(bound)) return;
    OrderedJson& node = (*nodes_.back())[keyword];
    if (type == "integer")
      node = static_cast<int64_t>(bound);
    else
      node = bound;
  }

  OrderedJson root_;
  std::vector<OrderedJson*> nodes_{&root_};  // from the root to the schema of the current value
};

bool lists(const OrderedJson& schema, const std::string& key) {
  const OrderedJson required = schema.value("required", OrderedJson::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

// Gives every key that may be absent the value it then has, and requires the structs that hold required keys.
void complete(OrderedJson& schema, const OrderedJson& values) {
  std::vector<std::string> required;
  for (auto& [key, node] : schema["properties"].items()) {
    if (node.contains("properties")) {
      complete(node, values[key]);
      if (node.contains("required") && !lists(schema, key)) required.push_back(key);
    } else if (!lists(schema, key) && values.contains(key)) {
      node["default"] = values[key];
    }
  }
  for (const std::string& key : required) schema["required"].push_back(key);
}

}  // namespace

OrderedJson schema_of_described(const Describe& prototype) {
  const OrderedJson values = write_described(prototype, WrittenKeys::kEvery);
  OrderedJson schema = SchemaMaker().make(prototype);
  complete(schema, values);
  return schema;
}

}  // namespace segue
