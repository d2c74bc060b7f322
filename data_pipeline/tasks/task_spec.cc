#include "data_pipeline/tasks/task_spec.h"

#include <algorithm>
#include <cctype>

#include "base/document_kind.h"
#include "base/error.h"
#include "base/json_override.h"
#include "data_pipeline/token_type.h"

namespace segue {

namespace {

constexpr int64_t kMostExamples = int64_t{1} << 31;  // of a split, so that shares are computed in 64 bits
constexpr int64_t kLongest = int64_t{1} << 24;       // so that a few examples fit in memory
constexpr size_t kMostSplits = 256;
constexpr size_t kMostParts = 1024;
constexpr size_t kLongestExcerpt = 60;  // of a name, in errors

bool is_plain_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, is_plain);
}

void check_count(std::string_view source, const std::string& path, size_t found, size_t most) {
  if (found == 0 || found > most)
    throw ConfigError("{}: {}: expected a list of 1 to {}, found {}", source, path, most, found);
}

void check_splits(const TaskSpec& spec, std::string_view source) {
  check_count(source, "splits", spec.splits.size(), kMostSplits);
  for (size_t i = 0; i < spec.splits.size(); ++i) {
    const TaskSplit& split = spec.splits[i];
    const std::string path = fmt::format("splits[{}]", i);
    if (!is_plain_name(split.name))
      throw ConfigError(R"({}: {}.name: expected letters, digits, "-" and "_", found "{}")", source, path,
                        printable_line(split.name, kLongestExcerpt));
    if (std::count_if(spec.splits.begin(), spec.splits.begin() + static_cast<int64_t>(i),
                      [&split](const TaskSplit& other) { return other.name == split.name; }) > 0)
      throw ConfigError(R"({}: {}.name: expected another name, found "{}" a second time)", source, path, split.name);
    check_count(source, path + ".parts", split.parts.size(), kMostParts);
    int64_t examples = 0;
    for (const TaskPart& part : split.parts) examples += part.examples;
    if (examples > kMostExamples)
      throw ConfigError("{}: {}.parts: expected at most {} examples in all, found {}", source, path, kMostExamples,
                        examples);
  }
}

}  // namespace

void TaskPart::describe(JsonFields& fields) {
  fields.required("examples", examples,
                  {.meaning = "number of examples", .minimum = 1, .maximum = static_cast<double>(kMostExamples)});
  fields.required(
      "length", length,
      {.meaning = "tokens of each example that a model reads. An example has one token more, the last target",
       .unit = "tokens",
       .minimum = 1,
       .maximum = static_cast<double>(kLongest)});
  fields.optional(
      "items", items,
      {.meaning = "things to remember: pairs, symbols", .minimum = 1, .maximum = static_cast<double>(kLongest)});
  fields.optional("shortest", shortest,
                  {.meaning = "fewest items of an example, in tasks that draw how many it has; 0: all have `items`",
                   .minimum = 0,
                   .maximum = static_cast<double>(kLongest)});
  fields.optional(
      "pairs", pairs,
      {.meaning = "with `replacement`: number of pairs shown, drawn from `items` keys and values; 0: as many as keys",
       .minimum = 0,
       .maximum = static_cast<double>(kLongest)});
}

void TaskSplit::describe(JsonFields& fields) {
  fields.required("name", name,
                  {.meaning = "name of the split. The parts of train and valid are mixed in proportion, and all "
                              "examples are padded to the longest. The parts of other splits follow one another"});
  fields.required("parts", parts, {.meaning = "groups of examples that are alike"});
}

void TaskSpec::describe(JsonFields& fields) {
  using enum TaskKind;
  fields.kind(kind, {.meaning = "the task"});
  fields.optional("seed", seed, {.meaning = "seed of all random numbers", .minimum = 0});
  fields.optional("vocabulary", vocabulary,
                  {.meaning = "number of different tokens, special ones included",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = static_cast<double>(kLargestVocabulary),
                   .kinds = Kinds(kRecall, kRetrieval, kRewrite, kCopy, kSelectiveCopy, kInduction, kNgram,
                                  kRegularLanguage, kVariables, kCollisions, kInContextRecall, kNoisyRecall,
                                  kFuzzyRecall, kCompression, kMemorisation)});
  fields.optional("reassigned", reassigned,
                  {.meaning = "share of the keys that get a second value, which then counts",
                   .minimum = 0,
                   .maximum = 1,
                   .kinds = Kinds(kRecall)});
  fields.optional(
      "replacement", replacement,
      {.meaning = "keys and values are drawn with replacement; a key's last value counts", .kinds = Kinds(kRetrieval)});
  fields.optional(
      "rewritten", rewritten,
      {.meaning = "keys repeat, and the last value counts; otherwise all keys differ", .kinds = Kinds(kRewrite)});
  fields.optional("segment", segment,
                  {.meaning = "length that a pair is padded to",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = static_cast<double>(kLongest),
                   .kinds = Kinds(kRewrite)});
  fields.optional("key_tokens", key_tokens,
                  {.meaning = "tokens of a key",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = 1024,
                   .kinds = Kinds(kRewrite, kNgram)});
  fields.optional("language", language, {.meaning = "the automaton", .kinds = Kinds(kRegularLanguage)});
  fields.optional(
      "noise", noise,
      {.meaning = "share of the pairs that noise replaces", .minimum = 0, .below = 1, .kinds = Kinds(kNoisyRecall)});
  fields.optional("grid", grid,
                  {.meaning = "rows and columns of the grid in which particles move",
                   .minimum = 2,
                   .maximum = 1024,
                   .kinds = Kinds(kCollisions)});
  fields.optional(
      "colours", colours,
      {.meaning = "number of colours of particles", .minimum = 1, .maximum = 256, .kinds = Kinds(kCollisions)});
  constexpr Kinds kInText(kPasskey, kNeedles, kVariableTracking, kCommonWords, kFrequentWords);
  fields.optional(
      "filler", filler,
      {.meaning = "directory of the dataset that gives the examples their text and tokenizer", .kinds = kInText});
  fields.optional("filler_split", filler_split, {.meaning = "split of that dataset", .kinds = kInText});
  fields.optional(
      "chains", chains,
      {.meaning = "number of chains of assignments", .minimum = 1, .maximum = 1024, .kinds = Kinds(kVariableTracking)});
  fields.optional(
      "common_repeats", common_repeats,
      {.meaning = "how often each common word appears", .minimum = 2, .maximum = 65536, .kinds = Kinds(kCommonWords)});
  fields.optional(
      "other_repeats", other_repeats,
      {.meaning = "how often each other word appears", .minimum = 1, .maximum = 65536, .kinds = Kinds(kCommonWords)});
  fields.required("splits", splits, {.meaning = "splits of the dataset"});
}

TaskSpec parse_task_spec(std::string_view text, std::string_view source, std::span<const std::string> overrides) {
  const Json file = parse_overridable(text, source, DocumentKind::kTask);
  return read_overridden<TaskSpec>(
      source, overrides, [&file](std::span<const std::string> some, std::string_view blamed) {
        const Json document = apply_overrides<TaskSpec>(file, blamed, some, "vocabulary=64");
        auto spec = read_fields<ConfigError, TaskSpec>(document, blamed);
        check_kinds<ConfigError>(spec, blamed);
        check_splits(spec, blamed);
        return spec;
      });
}

TaskSpec load_task_spec(const std::filesystem::path& path, std::span<const std::string> overrides) {
  return parse_task_spec(read_document<ConfigError>(path, DocumentKind::kTask, kLargestOverridden), path.string(),
                         overrides);
}

OrderedJson task_schema() {
  OrderedJson schema;
  schema[kSchemaKey] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "A synthetic task of Segue";
  schema.update(schema_of<TaskSpec>());
  schema["properties"][kSchemaKey] = {{"description", "where editors find this schema; ignored by segue"},
                                      {"type", "string"}};
  return schema;
}

void SpecPlace::expect_at_least(int64_t minimum, std::string_view key, int64_t found, std::string_view why) const {
  if (found >= minimum) return;
  throw ConfigError("{}: {}: expected at least {} {}, found {}", source, join_json_path(path, key), minimum, why,
                    found);
}

void SpecPlace::expect_at_most(int64_t maximum, std::string_view key, int64_t found, std::string_view why) const {
  if (found <= maximum) return;
  throw ConfigError("{}: {}: expected at most {} {}, found {}", source, join_json_path(path, key), maximum, why, found);
}

}  // namespace segue
