// The file that specifies a task's dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/choices.h"
#include "base/json_fields.h"

namespace segue {

enum class TaskKind : uint8_t {
  kRecall,
  kRetrieval,
  kRewrite,
  kCopy,
  kSelectiveCopy,
  kInduction,
  kNgram,
  kRegularLanguage,
  kVariables,
  kCollisions,
  kInContextRecall,
  kNoisyRecall,
  kFuzzyRecall,
  kCompression,
  kMemorisation,
  kPasskey,
  kNeedles,
  kVariableTracking,
  kCommonWords,
  kFrequentWords
};
inline const auto& table_of(TaskKind /*kind*/) {
  using enum TaskKind;
  static constexpr ChoiceTable<TaskKind, 20> kTable(
      {{kRecall, "recall", "pairs of keys and values, then every key again, which asks for its value (MQAR)"},
       {kRetrieval, "retrieval", "pairs of keys and values, then one key (Schlag et al. 2021)"},
       {kRewrite, "rewrite", "one pair in each segment, then one key (remember and rewrite, ARMT)"},
       {kCopy, "copy", "symbols, then the same symbols again"},
       {kSelectiveCopy, "selective_copy", "symbols among filler, then the symbols alone"},
       {kInduction, "induction", "a special token, which at the end asks what followed it"},
       {kNgram, "ngram", "symbols, then some of them again, which ask what followed them"},
       {kRegularLanguage, "regular_language", "symbols, then what an automaton says of them, such as their parity"},
       {kVariables, "variables", "programs over a few variables, which print values (Fan et al. 2020)"},
       {kCollisions, "collisions", "particles on a grid, and where two colours last met (Sukhbaatar et al. 2021)"},
       {kInContextRecall, "in_context_recall", "keys and their values, again and again (MAD)"},
       {kNoisyRecall, "noisy_recall", "the same among noise (MAD)"},
       {kFuzzyRecall, "fuzzy_recall", "the same with keys and values of several tokens (MAD)"},
       {kCompression, "compression", "symbols, then positions, which ask for their symbols (adapted from MAD)"},
       {kMemorisation, "memorisation", "keys whose values only training shows (MAD)"},
       {kPasskey, "passkey", "a number hidden in text (Mohtashami and Jaggi 2023)"},
       {kNeedles, "needles", "numbers under names, hidden in text (RULER)"},
       {kVariableTracking, "variable_tracking", "chains of assignments, hidden in text (RULER)"},
       {kCommonWords, "common_words", "a list in which some words appear more often (RULER)"},
       {kFrequentWords, "frequent_words", "words whose counts fall with their rank (RULER)"}});
  return kTable;
}

// Whether examples are text of a dataset, in its vocabulary.
constexpr bool is_in_text(TaskKind kind) {
  using enum TaskKind;
  return kind == kPasskey || kind == kNeedles || kind == kVariableTracking || kind == kCommonWords ||
         kind == kFrequentWords;
}

// The automaton of a regular language.
enum class RegularLanguage : uint8_t { kParity, kEvenPairs, kCycleNavigation, kModularArithmetic };
inline const auto& table_of(RegularLanguage /*language*/) {
  using enum RegularLanguage;
  static constexpr ChoiceTable<RegularLanguage, 4> kTable(
      {{kParity, "parity", "whether the number of ones is odd"},
       {kEvenPairs, "even_pairs", "whether the last bit differs from the first"},
       {kCycleNavigation, "cycle_navigation", "where steps forward, backward and none lead on a circle of five"},
       {kModularArithmetic, "modular_arithmetic", "the value of digits, +, - and *, modulo five"}});
  return kTable;
}

// Examples alike.
struct TaskPart {
  int64_t examples = 0;
  int64_t length = 0;    // rows of a model: an example has one token more
  int64_t items = 1;     // to remember: pairs, symbols, variables; what an item is says the task
  int64_t shortest = 0;  // of tasks that draw how many items an example has: the fewest; 0: all have `items`
  int64_t pairs = 0;     // that are shown of `items` keys, drawn with replacement; 0: as many as keys
  void describe(JsonFields& fields);
};

struct TaskSplit {
  std::string name;
  std::vector<TaskPart> parts;
  void describe(JsonFields& fields);

  // Examples of the parts are mixed, and all as long as the longest. The parts of other splits follow one another.
  bool is_mixed() const { return name == "train" || name == "valid"; }
};

struct TaskSpec {
  TaskKind kind = TaskKind::kRecall;
  int64_t seed = 1;
  int64_t vocabulary = 0;                               // 0: the filler's
  double reassigned = 0.0;                              // recall
  bool replacement = false;                             // retrieval
  bool rewritten = false;                               // rewrite
  int64_t segment = 8;                                  // rewrite
  int64_t key_tokens = 1;                               // rewrite, ngram
  RegularLanguage language = RegularLanguage::kParity;  // regular_language
  double noise = 0.2;                                   // noisy_recall
  int64_t grid = 16;                                    // collisions
  int64_t colours = 5;                                  // collisions
  std::filesystem::path filler = {};                    // of what is hidden in text
  std::string filler_split = "train";                   // the same
  int64_t chains = 1;                                   // variable_tracking
  int64_t common_repeats = 30;                          // common_words
  int64_t other_repeats = 3;                            // common_words
  std::vector<TaskSplit> splits = {};
  void describe(JsonFields& fields);
};

// Reads a file. Throws ConfigError, naming file or override, key, expected and found, for what no kind allows;
// make_task() looks at the rest. FileError.
TaskSpec load_task_spec(const std::filesystem::path& path, std::span<const std::string> overrides = {});
TaskSpec parse_task_spec(std::string_view text, std::string_view source, std::span<const std::string> overrides = {});

// Of such files.
OrderedJson task_schema();

// Where keys stand in a file, for errors about them.
struct SpecPlace {
  std::string source;
  std::string path = {};  // "splits[0].parts[1]"; empty: the file itself

  // Throw ConfigError unless the number is as expected; `why` is said with what is expected: "for 64 pairs".
  void expect_at_least(int64_t minimum, std::string_view key, int64_t found, std::string_view why) const;
  void expect_at_most(int64_t maximum, std::string_view key, int64_t found, std::string_view why) const;
};

}  // namespace segue
