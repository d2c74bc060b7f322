// Programs, collisions and the tasks of MAD: what was published of them, and what they refuse.
#include <map>
#include <set>

#include "tests/data_pipeline/tasks_testing.h"

namespace segue {
namespace {

constexpr int64_t kMany = 2000;

const TaskSpec kPrograms =
    one_part({.kind = TaskKind::kVariables, .vocabulary = 23}, {.examples = 10000, .length = 460, .items = 3});
const TaskSpec kParticles =
    one_part({.kind = TaskKind::kCollisions, .vocabulary = 47}, {.examples = 100, .length = 2303, .items = 2});
const TaskSpec kInContext =
    one_part({.kind = TaskKind::kInContextRecall, .vocabulary = 16}, {.examples = 12800, .length = 127, .items = 8});
const TaskSpec kNoisy =
    one_part({.kind = TaskKind::kNoisyRecall, .vocabulary = 32}, {.examples = 12800, .length = 127, .items = 8});
const TaskSpec kFuzzy =
    one_part({.kind = TaskKind::kFuzzyRecall, .vocabulary = 16}, {.examples = 12800, .length = 127, .items = 3});
const TaskSpec kCompressed =
    one_part({.kind = TaskKind::kCompression, .vocabulary = 46}, {.examples = 12800, .length = 92, .items = 31});
const TaskSpec kFacts =
    one_part({.kind = TaskKind::kMemorisation, .vocabulary = 256}, {.examples = 256, .length = 31, .items = 128});

TEST(VariablesTest, AHundredStatementsStartWithAnyValueOfAnyVariable) {
  int64_t statements = 0;
  int64_t prints = 0;
  std::vector<int64_t> values(10);
  std::vector<int64_t> names(3);
  std::vector<int64_t> comparisons(2);
  for_examples(kPrograms, kMany, [&](const TaskExample& example) {
    for (const int32_t token : example.tokens) {
      statements += token == 18 ? 1 : 0;
      prints += token == 17 ? 1 : 0;
      if (token == 14 || token == 15) ++comparisons[static_cast<size_t>(token - 14)];
    }
    ASSERT_EQ(example.tokens[1], 10);  // nothing but an assignment is possible
    ++names[static_cast<size_t>(example.tokens[0] - 20)];
    ++values[static_cast<size_t>(example.tokens[2])];
    ASSERT_EQ(example.tokens.back(), 19);
  });
  EXPECT_NEAR(static_cast<double>(statements) / kMany, 100.0, 1.0);
  // Of six possible statements, all but the assignment stay possible, changes where the value allows them.
  EXPECT_NEAR(static_cast<double>(prints) / static_cast<double>(statements), 0.26, 0.02);
  expect_alike(values);
  expect_alike(names);
  expect_alike(comparisons);
}

TEST(CollisionsTest, ParticlesStayOnTheGridAndChangeTheirColourNowAndThen) {
  std::vector<int64_t> changes(2);
  std::vector<int64_t> colours(5);
  std::vector<int64_t> moves(3);
  for_examples(kParticles, 200, [&](const TaskExample& example) {
    for (size_t step = 0; step < 256; ++step) {
      const std::span<const int32_t> tokens = std::span(example.tokens).subspan(9 * step, 9);
      for (size_t particle = 0; particle < 2; ++particle) {
        const std::span<const int32_t> now = tokens.subspan(3 * particle, 3);
        ASSERT_TRUE(now[0] >= 0 && now[0] < 16 && now[1] >= 16 && now[1] < 32 && now[2] >= 32 && now[2] < 37);
        if (step == 0) {
          ++colours[static_cast<size_t>(now[2] - 32)];
          continue;
        }
        const std::span<const int32_t> before = std::span(example.tokens).subspan(9 * (step - 1) + 3 * particle, 3);
        ++changes[now[2] == before[2] ? 0 : 1];
        ++moves[static_cast<size_t>(std::min(2, std::abs(now[0] - before[0])))];
      }
      ASSERT_TRUE(tokens[6] >= 37 && tokens[6] < 42 && tokens[7] >= 37 && tokens[7] < 42);
      const bool is_answered = example.marks[9 * step + 8].is_scored();
      ASSERT_EQ(tokens[8] == 46, !is_answered);
      ASSERT_TRUE(!is_answered || (tokens[8] >= 42 && tokens[8] < 46));
    }
  });
  expect_alike(colours);
  expect_shares(changes, {0.96, 0.04});  // one of five drawn is the same
  EXPECT_GT(moves[0], moves[1]);
  EXPECT_GT(moves[1], moves[2]);
  EXPECT_GT(moves[2], 0);
}

TEST(InContextRecallTest, AKeyHasOneValueAndIsAskedWheneverItReturns) {
  std::vector<int64_t> keys(8);
  std::vector<int64_t> values(8);
  for_examples(kInContext, kMany, [&](const TaskExample& example) {
    std::map<int32_t, int32_t> value_of;
    for (size_t i = 0; i < 128; i += 2) {
      const int32_t key = example.tokens[i];
      const int32_t value = example.tokens[i + 1];
      ASSERT_TRUE(key < 8 && value >= 8 && value < 16);
      const auto [known, is_new] = value_of.emplace(key, value);
      if (is_new) ++values[static_cast<size_t>(value - 8)];
      if (i < 126) ++keys[static_cast<size_t>(key)];
      ASSERT_EQ(known->second, value);
      ASSERT_EQ(example.marks[i + 1].is_scored(), !is_new);
    }
    ASSERT_TRUE(example.marks.back().is_scored());
  });
  expect_alike(keys);
  expect_alike(values);
}

TEST(InContextRecallTest, FewerItemsAreFewerKeysOfTheSameVocabulary) {
  TaskSpec spec = kInContext;
  spec.splits[0].parts[0].items = 3;
  std::set<int32_t> all;
  for_examples(spec, 100, [&all](const TaskExample& example) {
    std::set<int32_t> keys;
    for (size_t i = 0; i < 128; i += 2) keys.insert(example.tokens[i]);
    ASSERT_EQ(keys.size(), 3U);
    all.insert(keys.begin(), keys.end());
  });
  EXPECT_EQ(all.size(), 8U);
}

TEST(NoisyRecallTest, AFifthOfThePairsIsNoiseOfItsOwnVocabulary) {
  std::vector<int64_t> kinds(2);
  std::vector<int64_t> noise(16);
  for_examples(kNoisy, kMany, [&](const TaskExample& example) {
    for (size_t i = 0; i < 126; i += 2) {
      const bool is_noise = example.tokens[i] >= 16;
      ++kinds[is_noise ? 1 : 0];
      ASSERT_EQ(is_noise, example.tokens[i + 1] >= 16);
      if (!is_noise) continue;
      for (size_t j = i; j < i + 2; ++j) ++noise[static_cast<size_t>(example.tokens[j] - 16)];
    }
    ASSERT_LT(example.tokens[126], 8);
  });
  const double share = 0.2 * 62.0 / 63.0;  // one of the 63 is none
  expect_shares(kinds, {1.0 - share, share});
  expect_alike(noise);
}

TEST(FuzzyRecallTest, KeysAndValuesAreOfOneToThreeDifferentTokens) {
  std::vector<int64_t> keys(3);
  std::vector<int64_t> values(3);
  for_examples(kFuzzy, kMany, [&](const TaskExample& example) {
    ASSERT_GE(answers_in(example), 1);
    size_t at = 0;
    int64_t pairs = 0;
    while (at < example.tokens.size() && example.tokens[at] != 15) {
      const auto part = [&](int32_t begin, int32_t end) {
        std::set<int32_t> tokens;
        while (at < example.tokens.size() && example.tokens[at] >= begin && example.tokens[at] < end)
          EXPECT_TRUE(tokens.insert(example.tokens[at++]).second);
        return tokens.size();
      };
      const size_t key = part(0, 7);
      const size_t value = part(7, 15);
      ASSERT_TRUE(key >= 1 && key <= 3 && value >= 1 && value <= 3);
      if (++pairs > 10) continue;  // the last are those that fit
      ++keys[key - 1];
      // A key that returns has the value that it had: mostly of one token, whose values are still of any length.
      ++values[value - 1];
    }
    while (at < example.tokens.size()) ASSERT_EQ(example.tokens[at++], 15);
  });
  expect_alike(keys);
  EXPECT_NEAR(static_cast<double>(values[0]) / static_cast<double>(values[1]), 1.0, 0.05);
  EXPECT_NEAR(static_cast<double>(values[2]) / static_cast<double>(values[1]), 1.0, 0.05);
}

TEST(CompressionTest, EveryPlaceIsAskedOnceInRandomOrder) {
  std::vector<int64_t> symbols(15);
  std::vector<int64_t> first(31);
  for_examples(kCompressed, kMany, [&](const TaskExample& example) {
    std::set<int32_t> places;
    for (size_t i = 0; i < 31; ++i) {
      ++symbols[static_cast<size_t>(example.tokens[i])];
      const size_t at = 31 + 2 * i;
      ASSERT_TRUE(places.insert(example.tokens[at]).second);
      ASSERT_EQ(example.tokens[at + 1], example.tokens[static_cast<size_t>(example.tokens[at] - 15)]);
      ASSERT_EQ(example.marks[at + 1].distance(), static_cast<int64_t>(at) + 1 - (example.tokens[at] - 15));
    }
    ++first[static_cast<size_t>(example.tokens[31] - 15)];
  });
  expect_alike(symbols);
  expect_alike(first);
}

TEST(MemorisationTest, OneTableForAllExamplesAndAnotherForAnotherSeed) {
  const auto table_of_seed = [](int64_t seed) {
    TaskSpec spec = kFacts;
    spec.seed = seed;
    std::map<int32_t, int32_t> table;
    std::set<int32_t> values;
    for_examples(spec, 256, [&](const TaskExample& example) {
      std::set<int32_t> keys;
      for (size_t i = 0; i < 32; i += 2) {
        ASSERT_TRUE(keys.insert(example.tokens[i]).second);
        const auto [known, is_new] = table.emplace(example.tokens[i], example.tokens[i + 1]);
        ASSERT_EQ(known->second, example.tokens[i + 1]);
        ASSERT_EQ(example.marks[i + 1], TokenMark::answer(0));
        values.insert(example.tokens[i + 1]);
      }
    });
    EXPECT_EQ(table.size(), 128U);
    EXPECT_EQ(values.size(), 128U);
    return table;
  };
  EXPECT_EQ(table_of_seed(1), table_of_seed(1));
  EXPECT_NE(table_of_seed(1), table_of_seed(2));
}

TEST(FurtherTaskTest, AnExampleIsTheSameInAnyOrder) {
  for (const TaskSpec& spec : {kPrograms, kParticles, kInContext, kNoisy, kFuzzy, kCompressed, kFacts}) {
    const std::vector<TaskExample> forward = examples_of(spec, 20);
    const std::unique_ptr<Task> task = make_task(spec, "task.json");
    TaskExample example;
    for (size_t i = forward.size(); i-- > 0;) {
      make_example(*task, spec, 0, 0, static_cast<int64_t>(i), example);
      EXPECT_EQ(example.tokens, forward[i].tokens);
      EXPECT_EQ(example.marks, forward[i].marks);
    }
  }
}

// Whoever changes one of these changes what every published comparison was made from.
TEST(FurtherTaskTest, WhatASeedMakesStaysWhatItIs) {
  EXPECT_EQ(checksum_of_examples(kPrograms, 100), "xxh3:23644ed7ea68857f8f403d89769afad2");
  EXPECT_EQ(checksum_of_examples(kParticles, 100), "xxh3:5e04b4ce389316a5d5d3edea4be4751f");
  EXPECT_EQ(checksum_of_examples(kInContext, 100), "xxh3:3e103f3500498864c1fa896b159bb1fd");
  EXPECT_EQ(checksum_of_examples(kNoisy, 100), "xxh3:049f3c85f8e877cc22d3a314040d1f3b");
  EXPECT_EQ(checksum_of_examples(kFuzzy, 100), "xxh3:51bb2a24623545c1bd1025d143087448");
  EXPECT_EQ(checksum_of_examples(kCompressed, 100), "xxh3:ce41f316bc1ae8be30e80f981c51d82e");
  EXPECT_EQ(checksum_of_examples(kFacts, 100), "xxh3:a5052130f9179fd91da510ab304369e8");
}

std::string refusal_of(TaskSpec spec, const std::function<void(TaskSpec&, TaskPart&)>& change) {
  change(spec, spec.splits[0].parts[0]);
  return message_of<ConfigError>([&spec] { make_task(spec, "task.json"); });
}

TEST(FurtherTaskTest, RefusesWhatNoExampleCanMeet) {
  EXPECT_EQ(refusal_of(kPrograms, [](TaskSpec& spec, TaskPart&) { spec.vocabulary = 20; }),
            "task.json: vocabulary: expected at least 21 tokens for values, words and a variable, found 20");
  EXPECT_EQ(refusal_of(kPrograms, [](TaskSpec&, TaskPart& part) { part.items = 4; }),
            "task.json: splits[0].parts[0].items: expected at most 3 variables besides 20 values and words of 23 "
            "tokens, found 4");
  EXPECT_EQ(refusal_of(kPrograms, [](TaskSpec&, TaskPart& part) { part.length = 17; }),
            "task.json: splits[0].parts[0].length: expected at least 18 tokens for a few statements, found 17");
  EXPECT_EQ(refusal_of(kParticles, [](TaskSpec& spec, TaskPart&) { spec.vocabulary = 46; }),
            "task.json: vocabulary: expected at least 47 tokens for a grid of 16 and 5 colours, found 46");
  EXPECT_EQ(refusal_of(kParticles, [](TaskSpec&, TaskPart& part) { part.items = 1; }),
            "task.json: splits[0].parts[0].items: expected at least 2 particles that can meet, found 1");
  EXPECT_EQ(refusal_of(kParticles, [](TaskSpec&, TaskPart& part) { part.length = 7; }),
            "task.json: splits[0].parts[0].length: expected at least 8 tokens for a step of these particles, found 7");
  EXPECT_EQ(refusal_of(kInContext, [](TaskSpec&, TaskPart& part) { part.items = 9; }),
            "task.json: splits[0].parts[0].items: expected at most 8 keys in this vocabulary, found 9");
  EXPECT_EQ(refusal_of(kInContext, [](TaskSpec&, TaskPart& part) { part.length = 128; }),
            "task.json: splits[0].parts[0].length: expected an odd number, since pairs of tokens end with a target, "
            "found 128");
  EXPECT_EQ(refusal_of(kNoisy, [](TaskSpec& spec, TaskPart&) { spec.vocabulary = 3; }),
            "task.json: vocabulary: expected at least 4 tokens for keys, values and noise, found 3");
  EXPECT_EQ(refusal_of(kFuzzy, [](TaskSpec&, TaskPart& part) { part.items = 8; }),
            "task.json: splits[0].parts[0].items: expected at most 6 different tokens for a key, one fewer than there "
            "are, found 8");
  EXPECT_EQ(refusal_of(kFuzzy, [](TaskSpec&, TaskPart& part) { part.length = 10; }),
            "task.json: splits[0].parts[0].length: expected at least 11 tokens for a pair that returns, found 10");
  EXPECT_EQ(
      refusal_of(kCompressed, [](TaskSpec&, TaskPart& part) { part.length = 91; }),
      "task.json: splits[0].parts[0].length: expected at least 92 tokens for 31 symbols, all asked for, found 91");
  EXPECT_EQ(refusal_of(kCompressed, [](TaskSpec& spec, TaskPart&) { spec.vocabulary = 32; }),
            "task.json: vocabulary: expected at least 33 tokens for 31 places and symbols, found 32");
  EXPECT_EQ(refusal_of(kFacts, [](TaskSpec&, TaskPart& part) { part.items = 129; }),
            "task.json: splits[0].parts[0].items: expected at most 128 keys in this vocabulary, found 129");
  EXPECT_EQ(refusal_of(kFacts, [](TaskSpec&, TaskPart& part) { part.items = 15; }),
            "task.json: splits[0].parts[0].length: expected at most 30 tokens, since no key stands twice, found 31");
  EXPECT_EQ(refusal_of(kFacts, [](TaskSpec& spec, TaskPart&) { spec.vocabulary = 1; }),
            "task.json: vocabulary: expected at least 2 tokens, found 1");
}

}  // namespace
}  // namespace segue
