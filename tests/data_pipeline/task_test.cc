// Tasks: published sizes, distributions, the same examples everywhere, what is refused, and datasets of them.
#include "data_pipeline/tasks/task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/checksum.h"
#include "data_pipeline/tasks/example_order.h"
#include "data_pipeline/tasks/task_dataset.h"
#include "tests/data_pipeline/tasks_testing.h"
#include "tests/data_pipeline/testing.h"
#include "tests/source_directory.h"

namespace segue {
namespace {

std::filesystem::path presets() { return source_directory() / "configs" / "tasks"; }

// With one split, "test", of one part.
TaskSpec small_spec(const std::string& kind, int64_t vocabulary, const TaskPart& part) {
  const std::string text = fmt::format(
      R"({{"kind": "{}", "vocabulary": {}, "splits": [{{"name": "test", "parts": []}}]}})", kind, vocabulary);
  TaskSpec spec = read_fields<ConfigError, TaskSpec>(parse_json<ConfigError>(text, "spec"), "spec");
  spec.splits[0].parts = {part};
  return spec;
}

std::string refusal(const TaskSpec& spec) {
  return message_of<ConfigError>([&] { static_cast<void>(make_task(spec, "spec")); });
}

TEST(TaskRandom, IsUniform) {
  for (const int64_t count : {3, 10, 1000}) {
    TaskRandom random(7, 0, 1);
    std::vector<int64_t> found(static_cast<size_t>(count));
    for (int64_t i = 0; i < 100 * count; ++i) ++found[static_cast<size_t>(random.below(count))];
    expect_alike(found);
  }
  TaskRandom random(7, 0, 2);
  constexpr int64_t kWide = (int64_t{1} << 62) + 1;
  int64_t upper = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t drawn = random.below(kWide);
    ASSERT_TRUE(drawn >= 0 && drawn < kWide);
    upper += drawn > kWide / 2 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(upper), 500.0, 80.0);
  const std::vector<int64_t> distinct = random.distinct(5, 25, 20);
  EXPECT_EQ(std::set<int64_t>(distinct.begin(), distinct.end()).size(), 20);
  EXPECT_EQ(std::ranges::min(distinct), 5);
  EXPECT_EQ(std::ranges::max(distinct), 24);
}

TEST(WeightedDraw, DrawsInProportionAndEachOnce) {
  const std::vector<int64_t> weights{5, 1, 3, 11, 2, 7, 1};
  const std::vector<double> shares(weights.begin(), weights.end());
  std::vector<int64_t> first(weights.size());
  std::map<int64_t, int64_t> second;  // after place 3 came first
  for (uint64_t i = 0; i < 20000; ++i) {
    TaskRandom random(3, 0, i);
    WeightedDraw draw(weights);
    std::vector<int64_t> places;
    for (size_t k = 0; k < weights.size(); ++k) places.push_back(draw.draw(random));
    ++first[static_cast<size_t>(places[0])];
    if (places[0] == 3) ++second[places[1]];
    std::sort(places.begin(), places.end());
    for (size_t k = 0; k < places.size(); ++k) ASSERT_EQ(places[k], k);
  }
  expect_shares(first, shares);
  std::vector<int64_t> found;
  std::vector<double> left;
  for (size_t place = 0; place < weights.size(); ++place) {
    if (place == 3) continue;
    found.push_back(second[static_cast<int64_t>(place)]);
    left.push_back(shares[place]);
  }
  expect_shares(found, left);
}

// zoology: p of gap x is proportional to x^-0.99, and the first pair draws before any place is taken.
TEST(Recall, PlacesOfQueriesFollowThePowerLaw) {
  constexpr int64_t kPairs = 4;
  constexpr int64_t kPlaces = 28;  // (64 - 8) / 2
  const TaskSpec spec = small_spec("recall", 8192, {.examples = 1, .length = 64, .items = kPairs});
  std::vector<double> shares;
  for (int64_t x = 1; x <= kPlaces; ++x) shares.push_back(std::pow(static_cast<double>(x), -0.99));
  std::vector<int64_t> found(kPlaces);
  std::vector<int64_t> keys(64);
  for (const TaskExample& example : examples_of(spec, 20000)) {
    for (size_t at = 0; at < example.tokens.size(); ++at) {
      if (!example.marks[at].is_scored()) continue;
      const int64_t decided_by = static_cast<int64_t>(at) - example.marks[at].distance();
      if (decided_by == 1) ++found[(at - 1 - 2 * kPairs) / 2];
    }
    ++keys[static_cast<size_t>(example.tokens[0] * 64 / 4096)];
  }
  expect_shares(found, shares);
  std::vector<double> key_shares(64, 64.0);
  key_shares[0] = 63.0;  // no key is 0
  expect_shares(keys, key_shares);
}

TEST(Recall, AsksForEveryKeyOnceAlsoWhereNoPlaceIsFree) {
  TaskSpec spec = small_spec("recall", 1024, {.examples = 1, .length = 1024, .items = 256});
  for (const double reassigned : {0.0, 0.5}) {
    spec.reassigned = reassigned;
    spec.splits[0].parts[0].length = reassigned > 0 ? 1280 : 1024;
    for (const TaskExample& example : examples_of(spec, 20)) {
      std::set<int32_t> asked;
      for (size_t at = 0; at < example.tokens.size(); ++at) {
        if (!example.marks[at].is_scored()) continue;
        const auto value = at - static_cast<size_t>(example.marks[at].distance());
        EXPECT_EQ(example.tokens[value], example.tokens[at]);
        EXPECT_EQ(example.tokens[value - 1], example.tokens[at - 1]);
        asked.insert(example.tokens[at - 1]);
      }
      EXPECT_EQ(asked.size(), 256);
    }
  }
}

TEST(Tasks, PublishedSizes) {
  const auto last = [](const std::string& name, size_t split) {
    return load_task_spec(presets() / (name + ".json")).splits[split].parts.back();
  };
  const TaskSpec recall = load_task_spec(presets() / "recall.json");
  EXPECT_EQ(recall.vocabulary, 8192);
  std::vector<std::array<int64_t, 3>> parts;
  for (const TaskPart& part : recall.splits[0].parts) parts.push_back({part.examples, part.length, part.items});
  EXPECT_THAT(parts,
              testing::ElementsAre(std::array<int64_t, 3>{100000, 64, 4}, std::array<int64_t, 3>{20000, 128, 8},
                                   std::array<int64_t, 3>{20000, 256, 16}, std::array<int64_t, 3>{20000, 256, 32},
                                   std::array<int64_t, 3>{20000, 256, 64}));
  EXPECT_EQ(last("recall", 2).length, 1024);
  EXPECT_EQ(last("recall", 2).items, 256);
  EXPECT_EQ(last("retrieval_replacement", 0).pairs, 2 * last("retrieval_replacement", 0).items);
  EXPECT_EQ(last("retrieval_replacement", 1).pairs, 0);
  EXPECT_EQ(load_task_spec(presets() / "remember.json").vocabulary, 16 + 3);
  EXPECT_EQ(last("rewrite", 2).items, 200);
  EXPECT_EQ(load_task_spec(presets() / "copy.json").vocabulary, 26 + 2);
  EXPECT_EQ(last("copy", 0).shortest, 5);
  EXPECT_EQ(last("copy", 0).items, 20);
  EXPECT_EQ(load_task_spec(presets() / "selective_copy.json").vocabulary, 16);
  EXPECT_EQ(last("selective_copy", 0).length - last("selective_copy", 0).items, 4096);
  EXPECT_EQ(last("induction", 0).length, 256);
  EXPECT_EQ(last("induction", 2).length, 1 << 20);
  const TaskSpec ngram = load_task_spec(presets() / "ngram.json");
  EXPECT_EQ(last("ngram", 0).length - last("ngram", 0).items - ngram.key_tokens, 220);
  EXPECT_EQ(last("parity", 0).shortest, 3);
  EXPECT_EQ(last("parity", 0).items, 40);
  EXPECT_EQ(last("parity", 2).items, 256);
}

TEST(Tasks, EveryPresetMakesExamplesThatFit) {
  int64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(presets())) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const TaskSpec spec = load_task_spec(entry.path());
    if (is_in_text(spec.kind)) continue;  // of a dataset that is not here
    const std::unique_ptr<Task> task = make_task(spec, entry.path().string());
    TaskExample example;
    for (size_t split = 0; split < spec.splits.size(); ++split) {
      for (size_t part = 0; part < spec.splits[split].parts.size(); ++part) {
        make_example(*task, spec, split, part, 0, example);
        ASSERT_EQ(example.size(), spec.splits[split].parts[part].length + 1) << entry.path();
        ASSERT_EQ(std::ssize(example.marks), example.size());
        EXPECT_LT(std::ranges::max(example.tokens), spec.vocabulary);
        EXPECT_GE(std::ranges::min(example.tokens), 0);
        EXPECT_TRUE(std::ranges::any_of(example.marks, &TokenMark::is_scored));
        EXPECT_FALSE(example.marks[0].is_scored());
        for (size_t at = 0; at < example.marks.size(); ++at) {
          EXPECT_LE(example.marks[at].distance(), static_cast<int64_t>(at));
          EXPECT_TRUE(!example.marks[at].continues() || example.marks[at - 1].is_scored());
        }
      }
    }
  }
  EXPECT_GE(files, 24);
}

TEST(Tasks, AnExampleIsTheSameInAnyOrder) {
  const TaskSpec spec = small_spec("recall", 512, {.examples = 1, .length = 64, .items = 8});
  const std::unique_ptr<Task> task = make_task(spec, "spec");
  const std::vector<TaskExample> forward = examples_of(spec, 10);
  TaskExample example;
  for (int64_t i = 9; i >= 0; --i) {
    make_example(*task, spec, 0, 0, i, example);
    EXPECT_EQ(example.tokens, forward[static_cast<size_t>(i)].tokens);
    EXPECT_EQ(example.marks, forward[static_cast<size_t>(i)].marks);
  }
  TaskSpec other = spec;
  other.seed = 2;
  EXPECT_NE(examples_of(other, 1)[0].tokens, forward[0].tokens);
}

// These sums do not change with the machine; whoever changes what a seed means changes them.
TEST(Tasks, BitsAreThoseOfEveryMachine) {
  std::map<std::string, std::string> sums;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(presets() / "small")) paths.push_back(entry.path());
  for (const char* name : {"even_pairs", "cycle_navigation", "modular_arithmetic", "retrieval_replacement"})
    paths.push_back(presets() / (name + std::string(".json")));
  for (const std::filesystem::path& path : paths) {
    const TaskSpec spec = load_task_spec(path);
    if (is_in_text(spec.kind)) continue;
    const std::unique_ptr<Task> task = make_task(spec, "spec");
    Checksum sum;
    TaskExample example;
    for (size_t part = 0; part < spec.splits[0].parts.size(); ++part) {
      for (int64_t i = 0; i < 100; ++i) {
        make_example(*task, spec, 0, part, i, example);
        sum.update(std::as_bytes(std::span(example.tokens)));
        sum.update(std::as_bytes(std::span(example.marks)));
      }
    }
    sums[path.stem().string()] = sum.text().substr(0, 21);
  }
  const std::map<std::string, std::string> expected{{"copy", "xxh3:3740a0d355364404"},
                                                    {"induction", "xxh3:b3cde50d9f0e3c2d"},
                                                    {"ngram", "xxh3:7c24a4067e96b049"},
                                                    {"parity", "xxh3:4266843a978b6ce1"},
                                                    {"recall", "xxh3:20bd6d3697f893f4"},
                                                    {"remember", "xxh3:083eca2e8d2e0424"},
                                                    {"retrieval", "xxh3:82f65cfdf4cc14b0"},
                                                    {"rewrite", "xxh3:6126657a31a0686f"},
                                                    {"selective_copy", "xxh3:2b4926c76e8ce9c6"},
                                                    {"recall_reassigned", "xxh3:49d8a81e5630b1d0"},
                                                    {"even_pairs", "xxh3:f32a86ca2ae2255f"},
                                                    {"cycle_navigation", "xxh3:0533eff7577bd232"},
                                                    {"modular_arithmetic", "xxh3:ab3d2211aaaa70c2"},
                                                    {"retrieval_replacement", "xxh3:5648fcfd4c3c9738"}};
  for (const auto& [name, sum] : expected) EXPECT_EQ(sums[name], sum) << name;
}

TEST(Tasks, RefuseWhatNoExampleCanMeet) {
  EXPECT_EQ(refusal(small_spec("recall", 16, {.examples = 1, .length = 64, .items = 8})),
            "spec: splits[0].parts[0].items: expected at most 7 keys in the lower half of the vocabulary, without 0, "
            "found 8");
  EXPECT_EQ(refusal(small_spec("recall", 512, {.examples = 1, .length = 31, .items = 8})),
            "spec: splits[0].parts[0].length: expected at least 32 for 8 pairs and 8 queries, found 31");
  TaskSpec reassigned = small_spec("recall", 20, {.examples = 1, .length = 64, .items = 8});
  reassigned.reassigned = 0.5;
  EXPECT_EQ(refusal(reassigned),
            "spec: splits[0].parts[0].items: expected at most 6 values in the upper half of the vocabulary, found 8");
  EXPECT_EQ(refusal(small_spec("retrieval", 20, {.examples = 1, .length = 64, .items = 10})),
            "spec: splits[0].parts[0].items: expected at most 9 keys in the lower half of the vocabulary, without 0, "
            "found 10");
  EXPECT_EQ(refusal(small_spec("retrieval", 20, {.examples = 1, .length = 8, .items = 4})),
            "spec: splits[0].parts[0].length: expected at least 9 for 4 pairs and a query, found 8");
  EXPECT_EQ(refusal(small_spec("retrieval", 20, {.examples = 1, .length = 64, .items = 4, .pairs = 8})),
            "spec: splits[0].parts[0].pairs: expected at most 0 without replacement, found 8");
  EXPECT_EQ(refusal(small_spec("rewrite", 19, {.examples = 1, .length = 200, .items = 17})),
            "spec: splits[0].parts[0].items: expected at most 16 different keys of 1 of 16 symbols, found 17");
  EXPECT_EQ(refusal(small_spec("rewrite", 19, {.examples = 1, .length = 31, .items = 3})),
            "spec: splits[0].parts[0].length: expected at least 32 for 4 segments of 8 tokens, found 31");
  EXPECT_EQ(refusal(small_spec("copy", 3, {.examples = 1, .length = 10, .items = 5})),
            "spec: vocabulary: expected at least 4 for two symbols, a mark and filler, found 3");
  EXPECT_EQ(refusal(small_spec("copy", 28, {.examples = 1, .length = 10, .items = 5, .shortest = 6})),
            "spec: splits[0].parts[0].shortest: expected at most 5 items, found 6");
  EXPECT_EQ(refusal(small_spec("selective_copy", 16, {.examples = 1, .length = 9, .items = 5})),
            "spec: splits[0].parts[0].length: expected at least 10 for 5 symbols twice, found 9");
  EXPECT_EQ(refusal(small_spec("induction", 16, {.examples = 1, .length = 16, .items = 2})),
            "spec: splits[0].parts[0].items: expected at most 1 special token, found 2");
  EXPECT_EQ(
      refusal(small_spec("ngram", 28, {.examples = 1, .length = 100, .items = 2})),
      "spec: splits[0].parts[0].length: expected at most 29 for keys of 1 of 26 symbols that stand but once, found "
      "100");
  EXPECT_EQ(refusal(small_spec("regular_language", 4, {.examples = 1, .length = 8, .items = 8})),
            "spec: splits[0].parts[0].length: expected at least 9 for 8 symbols and a mark, found 8");
  TaskSpec arithmetic = small_spec("regular_language", 10, {.examples = 1, .length = 9, .items = 8});
  arithmetic.language = RegularLanguage::kModularArithmetic;
  EXPECT_EQ(refusal(arithmetic),
            "spec: splits[0].parts[0].items: expected at least 9 for digits with a sign between each two, found 8");
}

TEST(TaskSpecs, AreReadStrictly) {
  const auto parse = [](const std::string& text, std::vector<std::string> overrides = {}) {
    return message_of<ConfigError>([&] { static_cast<void>(parse_task_spec(text, "spec", overrides)); });
  };
  const std::string part = R"({"examples": 1, "length": 64, "items": 4})";
  const auto spec = [&part](const std::string& more, const std::string& names = R"({"name": "a", "parts": [PART]})") {
    std::string splits = names;
    for (size_t at = splits.find("PART"); at != std::string::npos; at = splits.find("PART"))
      splits.replace(at, 4, part);
    return fmt::format(R"({{"vocabulary": 64{}, "splits": [{}]}})", more, splits);
  };
  EXPECT_EQ(parse(spec("")), "no error");
  EXPECT_THAT(parse(spec(R"(, "reasigned": 0.5)")), testing::HasSubstr("did you mean reassigned?"));
  EXPECT_EQ(parse(spec(R"(, "rewritten": true)")),
            R"(spec: rewritten: expected false with kind = "recall" (read by "rewrite"), found true)");
  EXPECT_EQ(parse(spec(""), {"vocabulary=-1"}),
            "--set vocabulary=-1: vocabulary: expected an integer >= 0 and <= 2147483647, found -1");
  EXPECT_EQ(parse(spec(""), {"vocabulary"}), "--set vocabulary: expected KEY=VALUE, as in vocabulary=64");
  EXPECT_EQ(parse(spec("", "")), "spec: splits: expected a list of 1 to 256, found 0");
  EXPECT_EQ(parse(spec("", R"({"name": "a", "parts": []})")),
            "spec: splits[0].parts: expected a list of 1 to 1024, found 0");
  EXPECT_EQ(parse(spec("", R"({"name": "a/b", "parts": [PART]})")),
            R"(spec: splits[0].name: expected letters, digits, "-" and "_", found "a/b")");
  EXPECT_EQ(parse(spec("", R"({"name": "a", "parts": [PART]}, {"name": "a", "parts": [PART]})")),
            R"(spec: splits[1].name: expected another name, found "a" a second time)");
}

TEST(TaskSpecs, SchemaIsUpToDate) {
  EXPECT_TRUE(read_file(presets().parent_path() / "tasks.schema.json") == format_json(task_schema()))
      << "The structs of tasks changed. Run: segue schema --tasks > configs/tasks.schema.json";
}

TEST(ExampleOrder, MixesInProportion) {
  const TaskSplit split{"train",
                        {{.examples = 500, .length = 9}, {.examples = 30, .length = 4}, {.examples = 7, .length = 2}}};
  std::vector<int64_t> made(3);
  int64_t turned = 0;
  for (ExampleOrder order(split); order.next();) {
    EXPECT_EQ(order.number(), made[order.part()]++);
    ++turned;
    for (size_t part = 0; part < 3; ++part) {
      const double share = static_cast<double>(split.parts[part].examples) * static_cast<double>(turned) / 537.0;
      EXPECT_LT(std::abs(static_cast<double>(made[part]) - share), 1.5);
    }
  }
  EXPECT_THAT(made, testing::ElementsAre(500, 30, 7));
  EXPECT_EQ(padded_tokens(split, 2), 10);
  const TaskSplit apart{"test", split.parts};
  EXPECT_EQ(padded_tokens(apart, 2), 3);
  size_t before = 0;
  for (ExampleOrder order(apart); order.next(); before = order.part()) EXPECT_GE(order.part(), before);
}

TEST(TaskDataset, HoldsTheExamples) {
  const TemporaryDirectory directory;
  TaskSpec spec = load_task_spec(presets() / "small" / "recall_reassigned.json");
  for (TaskSplit& split : spec.splits)
    for (TaskPart& part : split.parts) part.examples = 3;
  Logger logger("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  const TaskDatasetOptions options{.output = directory / "data", .shard_tokens = 1000, .quiet = true, .command = "x"};
  write_task_dataset(spec, "spec", options, logger);
  EXPECT_EQ(message_of<DataError>([&] { write_task_dataset(spec, "spec", options, logger); }),
            (directory / "data").string() + ": the dataset exists; --force replaces it");
  const DatasetManifest manifest = read_dataset_manifest(directory / "data");
  EXPECT_EQ(manifest.task, "recall");
  const std::unique_ptr<Task> task = make_task(spec, "spec");
  for (size_t split = 0; split < 3; ++split) {
    std::vector<int32_t> tokens;
    std::vector<TokenMark> marks;
    TaskExample example;
    for (ExampleOrder order(spec.splits[split]); order.next();) {
      make_example(*task, spec, split, order.part(), order.number(), example);
      example.pad(padded_tokens(spec.splits[split], order.part()), task->filler());
      tokens.insert(tokens.end(), example.tokens.begin(), example.tokens.end());
      marks.insert(marks.end(), example.marks.begin(), example.marks.end());
    }
    TokenSource source = Dataset(directory / "data").split(spec.splits[split].name);
    ASSERT_EQ(source.tokens(), std::ssize(tokens));
    std::vector<int32_t> read(tokens.size());
    source.read(0, read);
    EXPECT_EQ(read, tokens);
    std::vector<TokenMark> read_marks(tokens.size());
    source.read_marks(0, read_marks);
    EXPECT_EQ(read_marks, marks);
  }
  ASSERT_EQ(manifest.splits[0].examples->size(), 1);
  EXPECT_EQ(manifest.splits[0].examples->front().count, 9);
  EXPECT_EQ(manifest.splits[0].examples->front().tokens, 129);
  EXPECT_TRUE(manifest.splits[0].examples->front().traits.empty());
  ASSERT_EQ(manifest.splits[2].examples->size(), 3);
  EXPECT_EQ(manifest.splits[2].examples->back().traits, (std::vector<ExampleTrait>{{"items", 16}}));
  EXPECT_TRUE(load_task_spec(directory / "data" / kTaskFile).splits[2].parts.size() == 3);
}

}  // namespace
}  // namespace segue
