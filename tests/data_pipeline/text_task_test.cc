// What is hidden in text of a dataset: in its tokens, as published, and what is refused.
#include <map>
#include <set>
#include <sstream>

#include "data_pipeline/tasks/task_dataset.h"
#include "tests/data_pipeline/tasks_testing.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

std::string made_up_text(int64_t bytes) {
  TaskRandom random(1, 0, 0);
  std::string text;
  while (std::ssize(text) < bytes) {
    for (int64_t left = random.between(1, 8); left > 0; --left) text += static_cast<char>('a' + random.below(26));
    text += random.below(12) == 0 ? '\n' : ' ';
  }
  return text;
}

class TextTaskTest : public testing::Test {
 protected:
  TextTaskTest() {
    write_text(directory_ / "text", made_up_text(200000));
    prepare_silently({.output = filler(), .input = {directory_ / "text"}});
  }

  std::filesystem::path filler() const { return directory_ / "filler"; }
  TaskSpec spec(TaskKind kind, int64_t length, int64_t items) const {
    return one_part({.kind = kind, .filler = filler()}, {.examples = 1000, .length = length, .items = items});
  }
  static std::string text_of(const TaskExample& example) { return {example.tokens.begin(), example.tokens.end()}; }
  static std::string answer_of(const TaskExample& example) {
    std::string answer;
    for (size_t i = 0; i < example.tokens.size(); ++i)
      if (example.marks[i].is_scored()) answer += static_cast<char>(example.tokens[i]);
    return answer;
  }
  // Answer by answer.
  static std::vector<std::string> answers_of(const TaskExample& example) {
    std::vector<std::string> answers;
    for (size_t i = 0; i < example.tokens.size(); ++i) {
      if (!example.marks[i].is_scored()) continue;
      if (!example.marks[i].continues()) answers.emplace_back();
      answers.back() += static_cast<char>(example.tokens[i]);
    }
    return answers;
  }

  TemporaryDirectory directory_;
};

TEST_F(TextTaskTest, APasskeyStandsAnywhereInConsecutiveText) {
  const std::string all = all_text(filler(), "train");
  std::vector<int64_t> places(10);
  std::vector<int64_t> keys(10);
  for_examples(spec(TaskKind::kPasskey, 1023, 1), 2000, [&](const TaskExample& example) {
    const std::string text = text_of(example);
    const std::string intro = "quiz you about the important information there.";
    const std::string end = " What is the pass key? The pass key is " + answer_of(example);
    const std::string hidden =
        " The pass key is " + answer_of(example) + ". Remember it. " + answer_of(example) + " is the pass key.";
    ASSERT_EQ(answers_in(example), 1);
    ASSERT_TRUE(text.ends_with(end));
    const size_t begin = text.find(intro) + intro.size();
    const size_t at = text.find(hidden);
    ASSERT_NE(at, std::string::npos);
    std::string before = text.substr(begin, at - begin);
    const std::string behind = text.substr(at + hidden.size(), text.size() - end.size() - at - hidden.size());
    ASSERT_NE(all.find(before + behind), std::string::npos);
    ++places[10 * before.size() / (before.size() + behind.size() + 1)];
    const int64_t key = std::stoll(answer_of(example));
    ASSERT_TRUE(key >= 1 && key <= 50000);
    ++keys[static_cast<size_t>((key - 1) / 5000)];
    const size_t target = text.size() - answer_of(example).size();
    ASSERT_EQ(example.marks[target].distance(),
              static_cast<int64_t>(target - at - std::string(" The pass key is").size()));
  });
  expect_alike(places);
  expect_alike(keys);
}

TEST_F(TextTaskTest, OneOfSeveralNeedlesIsAsked) {
  std::vector<int64_t> asked(4);
  for_examples(spec(TaskKind::kNeedles, 2047, 4), 1000, [&](const TaskExample& example) {
    const std::string text = text_of(example);
    std::map<std::string, std::pair<int64_t, std::string>> needles;
    const std::string lead = "One of the special magic numbers for ";
    for (size_t at = text.find(lead); at != std::string::npos; at = text.find(lead, at + 1)) {
      ASSERT_EQ(text.substr(at + lead.size() + 6, 5), " is: ");
      const std::string number = text.substr(at + lead.size() + 11, 7);
      ASSERT_TRUE(std::stoll(number) >= 1000000 && std::stoll(number) <= 9999999);
      const auto order = std::ssize(needles);
      needles[text.substr(at + lead.size(), 6)] = {order, number};
    }
    ASSERT_EQ(needles.size(), 4U);
    const std::string tail = " mentioned in the provided text is ";
    const auto& [order, number] = needles.at(text.substr(text.rfind(tail) - 6, 6));
    ASSERT_EQ(answer_of(example), number);
    ++asked[static_cast<size_t>(order)];
  });
  expect_alike(asked);
}

TEST_F(TextTaskTest, AChainNamesFiveVariablesInTheOrderOfTheText) {
  for (const int64_t chains : {1, 2}) {
    TaskSpec tracking = spec(TaskKind::kVariableTracking, 1023, 5);
    tracking.chains = chains;
    for_examples(tracking, 200, [&](const TaskExample& example) {
      const std::string text = text_of(example);
      const std::string question = text.substr(text.find(" Question:"));
      const std::string value = question.substr(question.find("value ") + 6, 5);
      std::vector<std::string> expected;
      std::set<std::string> known{value};
      int64_t assignments = 0;
      for (size_t at = text.find(" VAR "); at != std::string::npos; at = text.find(" VAR ", at + 1)) {
        if (text.substr(at + 10, 3) != " = ") continue;
        ++assignments;
        std::string of = text.substr(at + 13, 5);
        if (of.starts_with("VAR ")) of = text.substr(at + 17, 5);
        if (known.contains(of)) expected.push_back(text.substr(at + 5, 5));
        if (known.contains(of)) known.insert(expected.back());
      }
      ASSERT_EQ(assignments, 5 * chains);
      ASSERT_EQ(expected.size(), 5U);
      ASSERT_EQ(answers_of(example), expected);
    });
  }
}

std::map<std::string, int64_t> counts_of(const std::string& text, int64_t letters) {
  std::map<std::string, int64_t> counts;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (std::ssize(word) == letters) ++counts[word];
  return counts;
}

TEST_F(TextTaskTest, CommonWordsStandThirtyTimesAndOthersThrice) {
  for_examples(spec(TaskKind::kCommonWords, 8191, 10), 20, [&](const TaskExample& example) {
    const std::string text = text_of(example);
    const size_t begin = text.find(" 1. ");
    const std::string list = text.substr(begin, text.find(" Question:") - begin);
    std::map<std::string, int64_t> counts;
    for (const auto& [word, count] : counts_of(list, 6))
      if (word.back() != '.') counts[word] = count;
    std::vector<std::pair<size_t, std::string>> expected;
    int64_t others = 0;
    for (const auto& [word, count] : counts) {
      ASSERT_TRUE(count == 30 || count == 3);
      if (count == 30) expected.emplace_back(list.find(" " + word), word);
      if (count == 3) ++others;
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::string> words;
    for (const auto& [at, word] : expected) words.push_back(word);
    ASSERT_EQ(words.size(), 10U);
    ASSERT_GE(others, 100);
    ASSERT_EQ(answers_of(example), words);
  });
}

TEST_F(TextTaskTest, FrequentWordsFallWithTheSquareOfTheirRank) {
  for_examples(spec(TaskKind::kFrequentWords, 4095, 3), 20, [&](const TaskExample& example) {
    const std::string text = text_of(example);
    const size_t begin = text.find("appeared coded words.") + 21;
    const std::string list = text.substr(begin, text.find(" Question:") - begin);
    std::map<std::string, int64_t> counts = counts_of(list, 6);
    const int64_t dots = counts_of(list, 3).at("...");
    std::vector<std::pair<int64_t, std::string>> falling;
    for (const auto& [word, count] : counts) falling.emplace_back(-count, word);
    std::sort(falling.begin(), falling.end());
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(answers_of(example)[i], falling[i].second);
      const double share = static_cast<double>(-falling[i].first) / static_cast<double>(dots);
      ASSERT_NEAR(share, 1.0 / static_cast<double>((i + 2) * (i + 2)), 0.01);
    }
    ASSERT_LT(counts.size(), static_cast<size_t>(4095 / 50));
  });
}

TEST_F(TextTaskTest, TheDatasetHasTheFillersTokenizer) {
  TaskSpec needles = spec(TaskKind::kNeedles, 511, 2);
  needles.splits[0].parts[0].examples = 10;
  Logger logger("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  write_task_dataset(needles, "task.json", {.output = directory_ / "needles", .quiet = true}, logger);
  const Dataset dataset(directory_ / "needles");
  EXPECT_EQ(dataset.manifest().tokenizer, Dataset(filler()).manifest().tokenizer);
  EXPECT_EQ(dataset.manifest().sources.at(0).checksum, Dataset(filler()).checksum("train"));
  EXPECT_EQ(all_text(directory_ / "needles", "train").substr(0, 30), "Special magic numbers are hidd");
}

#ifdef SEGUE_HAS_SENTENCEPIECE
TEST_F(TextTaskTest, PiecesSpellAnAnswerAsTheySpellTheNeedle) {
  write_text(directory_ / "short", made_up_text(20000));
  prepare_silently({.output = directory_ / "pieces",
                    .input = {directory_ / "short"},
                    .tokenizer = {.kind = TokenizerKind::kSentencePiece},
                    .vocabulary = 400});
  const std::unique_ptr<Tokenizer> tokenizer = Dataset(directory_ / "pieces").tokenizer();
  TaskSpec passkey = spec(TaskKind::kPasskey, 511, 1);
  passkey.filler = directory_ / "pieces";
  for_examples(passkey, 50, [&](const TaskExample& example) {
    size_t begin = 0;
    while (!example.marks[begin].is_scored()) ++begin;
    const std::vector<int32_t> answer(example.tokens.begin() + static_cast<int64_t>(begin), example.tokens.end());
    const auto hidden = example.tokens.begin() + static_cast<int64_t>(begin) - example.marks[begin].distance();
    EXPECT_EQ(std::vector(hidden, hidden + std::ssize(answer)), answer);
    EXPECT_EQ(tokenizer->decode(answer)[0], ' ');
    EXPECT_EQ(tokenizer->decode(example.tokens).substr(0, 27), "There is an important info ");
  });
}
#endif

TEST_F(TextTaskTest, WhatASeedMakesStaysWhatItIs) {
  EXPECT_EQ(checksum_of_examples(spec(TaskKind::kPasskey, 1023, 1), 50), "xxh3:1e7aea95b061948467ce48503e424ba0");
  EXPECT_EQ(checksum_of_examples(spec(TaskKind::kNeedles, 1023, 4), 50), "xxh3:b26f77289b530185cde2eef043995d4c");
  EXPECT_EQ(checksum_of_examples(spec(TaskKind::kVariableTracking, 1023, 5), 50),
            "xxh3:18547e45c2e0f4840f686d549545befd");
  EXPECT_EQ(checksum_of_examples(spec(TaskKind::kCommonWords, 8191, 10), 50), "xxh3:7c35565b9c431412803e5fd7c53984c6");
  EXPECT_EQ(checksum_of_examples(spec(TaskKind::kFrequentWords, 4095, 3), 50), "xxh3:2855bf8575bcb1b3e6f720deb8075a5a");
}

TEST_F(TextTaskTest, AnExampleIsTheSameInAnyOrder) {
  for (const TaskSpec& each : {spec(TaskKind::kVariableTracking, 1023, 5), spec(TaskKind::kCommonWords, 8191, 10)}) {
    const std::vector<TaskExample> forward = examples_of(each, 8);
    const std::unique_ptr<Task> task = make_task(each, "task.json");
    TaskExample example;
    for (size_t i = forward.size(); i-- > 0;) {
      make_example(*task, each, 0, 0, static_cast<int64_t>(i), example);
      EXPECT_EQ(example.tokens, forward[i].tokens);
      EXPECT_EQ(example.marks, forward[i].marks);
    }
  }
}

TEST_F(TextTaskTest, RefusesWhatNoExampleCanMeet) {
  const auto refusal = [](const TaskSpec& spec) {
    return message_of<ConfigError>([&spec] { make_task(spec, "task.json"); });
  };
  TaskSpec none = spec(TaskKind::kPasskey, 1023, 1);
  none.filler.clear();
  EXPECT_EQ(refusal(none), "task.json: filler: expected the directory of a dataset, found none");

  EXPECT_EQ(refusal(spec(TaskKind::kPasskey, 1023, 2)),
            "task.json: splits[0].parts[0].items: expected at most 1 passkey (kind = \"needles\" hides several), "
            "found 2");
  EXPECT_THAT(refusal(spec(TaskKind::kNeedles, 400, 4)),
              testing::MatchesRegex("task.json: splits\\[0\\].parts\\[0\\].length: expected at least [0-9]+ tokens for "
                                    "what is hidden and asked, found 400"));
  EXPECT_THAT(refusal(spec(TaskKind::kCommonWords, 2047, 10)),
              testing::MatchesRegex("task.json: splits\\[0\\].parts\\[0\\].length: expected at least [0-9]+ tokens for "
                                    "the common words and another, found 2047"));
  EXPECT_EQ(refusal(spec(TaskKind::kFrequentWords, 511, 3)),
            "task.json: splits[0].parts[0].length: expected tokens for 3 words of different counts, found 511");
  EXPECT_THAT(refusal(spec(TaskKind::kPasskey, 400000, 1)),
              testing::HasSubstr("length: expected at most 180004 tokens, as the split of `filler` has, found 400000"));

  TaskSpec common = spec(TaskKind::kCommonWords, 8191, 10);
  common.other_repeats = 30;
  EXPECT_EQ(refusal(common), "task.json: common_repeats: expected more than other_repeats, 30, found 30");

  TaskSpec ready = spec(TaskKind::kPasskey, 1023, 1);
  ready.filler = prepare_positions(directory_, 2000, 1000);
  EXPECT_EQ(refusal(ready), "task.json: filler: expected a dataset with a tokenizer, found ready-made tokens in " +
                                ready.filler.string());

  TaskSpec words = spec(TaskKind::kPasskey, 1023, 1);
  words.filler = directory_ / "words";
  prepare_silently(
      {.output = words.filler, .input = {directory_ / "text"}, .tokenizer = {.kind = TokenizerKind::kWord}});
  EXPECT_THAT(refusal(words), testing::HasSubstr("found one of kind \"word\" in "));

  TaskSpec symbols = spec(TaskKind::kPasskey, 1023, 1);
  symbols.filler = directory_ / "symbols";
  prepare_silently(
      {.output = symbols.filler, .input = {directory_ / "text"}, .tokenizer = {.kind = TokenizerKind::kText8}});
  EXPECT_THAT(refusal(symbols), testing::HasSubstr("found one of kind \"text8\" in "));
}

}  // namespace
}  // namespace segue
