// Files that follow the structs: the schema, every experiment, and what the fuzzer of configs begins with.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/json_text.h"
#include "core/config/config.h"
#include "core/config/head_kind.h"
#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "tests/source_directory.h"

namespace segue {
namespace {

std::filesystem::path configs() { return source_directory() / "configs"; }
std::filesystem::path fuzz() { return source_directory() / "tests" / "fuzz"; }

// Every value described, typed or enumerated; every optional one with a default.
void expect_complete(const OrderedJson& schema, const std::string& path) {
  const OrderedJson required = schema.value("required", OrderedJson::array());
  for (const auto& [key, node] : schema.at("properties").items()) {
    const std::string here = join_json_path(path, key);
    EXPECT_FALSE(node.at("description").get<std::string>().empty()) << here;
    EXPECT_TRUE(node.contains("type") || node.contains("enum")) << here;
    if (node.contains("properties")) {
      EXPECT_EQ(node.at("additionalProperties"), OrderedJson(false)) << here;
      expect_complete(node, here);
    } else if (key != "$schema") {
      const bool is_required = std::find(required.begin(), required.end(), key) != required.end();
      EXPECT_NE(node.contains("default"), is_required) << here;
    }
  }
}

TEST(ConfigFiles, SchemaIsUpToDate) {
  EXPECT_TRUE(read_file(configs() / "segue.schema.json") == format_json(config_schema()))
      << "The config structs changed. Run: segue schema > configs/segue.schema.json";
}

TEST(ConfigFiles, SchemaExplainsEveryKey) { expect_complete(config_schema(), ""); }

TEST(ConfigFiles, SchemaKnowsWhatTheWriterWrites) {
  const OrderedJson values = to_json(Config{});
  const OrderedJson schema = config_schema();
  for (const auto& [group, members] : values.items()) {
    const OrderedJson& node = schema.at("properties").at(group);
    if (!members.is_object()) continue;
    for (const auto& [key, value] : members.items())
      EXPECT_TRUE(node.at("properties").contains(key)) << group << "." << key;
  }
}

// The fuzzer's seed has every key of `schema`. Its dictionary is made of the schema.
void expect_known(const OrderedJson& schema, const OrderedJson& value) {
  for (const auto& [key, node] : schema.at("properties").items()) {
    if (key == "$schema") continue;
    EXPECT_TRUE(value.contains(key)) << key;
    if (node.contains("properties")) expect_known(node, value.value(key, OrderedJson::object()));
  }
}

TEST(ConfigFiles, FuzzerKnowsEveryKey) {
  const std::string seed = read_file(fuzz() / "config_seeds" / "every_key").substr(1);
  EXPECT_NO_THROW(parse_config(seed, "every_key"));
  expect_known(config_schema(), OrderedJson::parse(seed));
}

// As versions did that knew no keys of some kinds.
TEST(ConfigFiles, EveryKeyMayBeWrittenWhateverTheKinds) {
  const std::string seed = read_file(fuzz() / "config_seeds" / "every_key").substr(1);
  const auto expect_read = [&seed](const std::string& axis, Words kinds) {
    for (const std::string_view kind : kinds) {
      // Not all kinds of memory go with documents, or with stages that have none, or with every kind of position.
      std::vector<std::string> overrides{axis + ".kind=" + std::string(kind),
                                         "data.document_boundary=", "training.stages=[]"};
      if (kind == name_of_choice(MemoryKind::kAssociative)) overrides.emplace_back("training.segments_per_step=2");
      if (kind == name_of_choice(MemoryKind::kEncoder)) overrides.emplace_back("model.position.kind=rope");
      EXPECT_NO_THROW(parse_config(seed, "every_key", overrides)) << overrides[0];
    }
  };
  expect_read("model.position", choices_of(PositionKind{}));
  expect_read("model.memory", choices_of(MemoryKind{}));
  expect_read("model.head", choices_of(HeadKind{}));
  expect_read("optimizer", choices_of(OptimizerKind{}));
  expect_read("schedule", choices_of(ScheduleKind{}));
}

TEST(ConfigFiles, EveryExperimentLoads) {
  int64_t experiments = 0;
  const std::string tasks = (configs() / "tasks" / "").string();  // they are no experiments
  for (const auto& entry : std::filesystem::recursive_directory_iterator(configs())) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json" || name.ends_with(".schema.json") || name == "comparison.json") continue;
    if (entry.path().string().starts_with(tasks)) continue;
    EXPECT_NO_THROW(load_config(entry.path())) << name;
    ++experiments;
  }
  EXPECT_GE(experiments, 34);
}

}  // namespace
}  // namespace segue
