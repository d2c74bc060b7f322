// Files and overrides to configs, and configs back to JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/json_override.h"
#include "core/config/config.h"
#include "core/config/layers.h"

namespace segue {
namespace {

constexpr const char* kExampleOverride = "model.mem_len=256";
constexpr const char* kRole = "x-role";  // of a key in the schema

Override parse_config_override(const std::string& text, std::string_view given = "--set") {
  Override change = parse_override(text, given, kExampleOverride);
  check_keys<Config>(change.document(), change.source);
  return change;
}

Config read_config(const Json& file, std::span<const std::string> overrides, std::string_view source) {
  const Json document = apply_overrides<Config>(file, source, overrides, kExampleOverride);
  auto config = read_fields<ConfigError, Config>(document, source);
  name_position_rows(config.model, config.training.tgt_len);
  check_combinations(config, source);
  return config;
}

// "model.mem_len" and the like, of all values.
void add_keys(const OrderedJson& values, const std::string& path, std::vector<std::string>& keys) {
  for (const auto& [key, value] : values.items()) {
    const std::string key_path = join_json_path(path, key);
    value.is_object() ? add_keys(value, key_path, keys) : keys.push_back(key_path);
  }
}

OrderedJson::json_pointer pointer_of(std::string key) {
  std::replace(key.begin(), key.end(), '.', '/');
  return OrderedJson::json_pointer("/" + key);
}

// Marks every key of the model that says nothing else as one that says what the model is.
void add_shape_roles(OrderedJson& schema) {
  for (auto& [key, node] : schema["properties"].items()) {
    if (node.contains("properties"))
      add_shape_roles(node);
    else if (!node.contains(kRole))
      node[kRole] = "shape";
  }
}

// Throws unless there are keys in `part`, and all of them say how weights are used.
void check_roles(const Json& part, const OrderedJson& schema, const std::string& path, std::string_view source) {
  const auto refuse = [source](const std::string& key_path) {
    throw ConfigError(
        "{}: {}: expected a key that says how weights are used, such as model.mem_len or model.position.clamp_len",
        source, key_path);
  };
  if (part.empty()) refuse(path);
  for (const auto& [key, value] : part.items()) {
    const OrderedJson& node = schema["properties"][key];
    const std::string key_path = join_json_path(path, key);
    if (node.contains("properties")) {
      check_roles(value, node, key_path, source);
    } else if (node.value(kRole, "") != "use") {
      refuse(key_path);
    }
  }
}

// The model that overrides make of it, before its kinds say which keys it reads.
ModelConfig with_overrides(const ModelConfig& model, std::span<const std::string> overrides, std::string_view given) {
  Json document{{"model", Json(write_fields(model))}};
  const OrderedJson schema = schema_of<Config>();
  for (const std::string& override_text : overrides) {
    const Override change = parse_config_override(override_text, given);
    check_roles(change.document(), schema, "", change.source);
    apply_override(change, document);
  }
  return read_fields<ConfigError, ModelConfig>(document["model"], given);
}

}  // namespace

Config parse_config(std::string_view text, std::string_view source, std::span<const std::string> overrides) {
  const Json file = parse_overridable(text, source, DocumentKind::kTrainingConfig);
  return read_overridden<Config>(
      source, overrides,
      [&file](std::span<const std::string> some, std::string_view blamed) { return read_config(file, some, blamed); });
}

Config load_config(const std::filesystem::path& path, std::span<const std::string> overrides) {
  const std::string text = read_document<ConfigError>(path, DocumentKind::kTrainingConfig, kLargestOverridden);
  return parse_config(text, path.string(), overrides);
}

ModelUse use_of(const ModelConfig& model, std::span<const std::string> overrides, std::string_view given) {
  const ModelConfig changed = with_overrides(model, overrides, given);
  check_kinds<ConfigError>(changed.visibility, given, "model.visibility");
  return use_of(changed);
}

void check_use_overrides(std::span<const std::string> overrides, std::string_view given) {
  static_cast<void>(with_overrides(ModelConfig{}, overrides, given));
}

std::vector<std::string> overridden_keys(std::span<const std::string> overrides) {
  std::vector<std::string> keys;
  for (const std::string& override_text : overrides) {
    const std::vector<std::string> changed = keys_of(parse_config_override(override_text));
    keys.insert(keys.end(), changed.begin(), changed.end());
  }
  return keys;
}

// Which of them counts would be a guess.
void refuse_override(std::span<const std::string> overrides, std::string_view key, std::string_view given,
                     std::string_view set) {
  const std::vector<std::string> keys = overridden_keys(overrides);
  if (std::find(keys.begin(), keys.end(), key) != keys.end())
    throw ConfigError("{} and {} {}: expected one of them", given, set, key);
}

OrderedJson to_json(const Config& config) { return write_fields(config); }

std::vector<ConfigDifference> differences_of(std::span<const Config> configs) {
  const OrderedJson every_key =
      write_described([](JsonFields& fields) { Config{}.describe(fields); }, WrittenKeys::kEvery);
  std::vector<std::string> keys;
  add_keys(every_key, "", keys);
  std::vector<OrderedJson> written(configs.size());
  std::transform(configs.begin(), configs.end(), written.begin(), to_json);
  std::vector<ConfigDifference> differences;
  for (std::string& key : keys) {
    const OrderedJson::json_pointer pointer = pointer_of(key);
    std::vector<std::string> values(written.size());
    std::transform(written.begin(), written.end(), values.begin(), [&pointer](const OrderedJson& config) {
      return config.contains(pointer) ? config.at(pointer).dump() : "not read";
    });
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end())
      differences.push_back({std::move(key), std::move(values)});
  }
  return differences;
}

std::vector<std::string> diff_configs(const Config& before, const Config& after) {
  const std::vector<Config> configs{before, after};
  std::vector<std::string> lines;
  for (const ConfigDifference& difference : differences_of(configs))
    lines.push_back(fmt::format("{}: {}", difference.key, fmt::join(difference.values, " -> ")));
  return lines;
}

OrderedJson config_schema() {
  OrderedJson schema;
  schema[kSchemaKey] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Config of a Segue experiment";
  schema.update(schema_of<Config>());
  add_shape_roles(schema["properties"]["model"]);
  schema["properties"][kSchemaKey] = {{"description", "where editors find this schema; ignored by segue"},
                                      {"type", "string"}};
  return schema;
}

}  // namespace segue
