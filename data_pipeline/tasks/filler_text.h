// Gives tasks the running text in which they hide something: tokens of a dataset.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/dataset.h"
#include "data_pipeline/tasks/task.h"

namespace segue {

using TextTokens = std::vector<int32_t>;

// What is encoded piece by piece, so that a name or a number is the same tokens wherever it stands.
using TextPieces = std::vector<std::string>;

// Not to be shared between threads.
class FillerText {
 public:
  // Opens the dataset `filler`. Throws ConfigError where it has no tokenizer, and DataError.
  FillerText(const TaskSpec& spec, const SpecPlace& place);

  const Dataset& dataset() const { return dataset_; }
  int64_t tokens() const { return source_.tokens(); }  // of the split
  // Whether a token is a character, so that the space before an answer is a token of its own and can go without score.
  bool is_of_characters() const { return !has_long_tokens(tokenizer_->info().kind); }

  // Throws ConfigError for what the vocabulary has not.
  TextTokens encode(std::string_view text) const;
  TextTokens encode(const TextPieces& pieces) const;
  // Consecutive tokens from a random place.
  TextTokens draw(int64_t count, TaskRandom& random) const;

 private:
  SpecPlace place_;
  Dataset dataset_;
  std::unique_ptr<Tokenizer> tokenizer_;
  mutable TokenSource source_;
};

// An answer begins with a space and is decided by a piece that is hidden, counted from 0.
struct TextAnswer {
  std::string text;
  size_t decided_by = 0;
};

// What is hidden begins with words that decide nothing; its second piece is the first that does.
struct HiddenText {
  std::string intro;
  std::vector<TextPieces> hidden = {};
  TextPieces question = {};
  std::vector<TextAnswer> answers = {};
};

class TextTask : public Task {
 public:
  TextTask(const TaskSpec& spec, const SpecPlace& place);
  const Dataset* text() const override { return &text_.dataset(); }
  void check(const TaskPart& part, const SpecPlace& place) const override;
  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override;

 protected:
  // Throws ConfigError naming `place` for what does not fit.
  virtual void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const = 0;

  // The intro, filler with what is hidden at random places in it, in this order, the question and the answers.
  void hide(const HiddenText& content, const TaskPart& part, const SpecPlace& place, TaskRandom& random,
            TaskExample& example) const;
  void add(const TextTokens& tokens, TaskExample& example) const;
  void add_answer(const TextTokens& tokens, int64_t decided_by, TaskExample& example) const;
  const FillerText& filler_text() const { return text_; }

 private:
  SpecPlace place_;
  uint64_t seed_;
  FillerText text_;
};

// Different words of so many letters from `first` on ('a' or 'A').
class MadeUpWords {
 public:
  MadeUpWords(int64_t letters, char first, TaskRandom& random) : letters_(letters), first_(first), random_(random) {}
  std::string next();
  std::vector<std::string> next(int64_t count);

 private:
  int64_t letters_;
  char first_;
  TaskRandom& random_;
  std::set<std::string> known_ = {};
};

}  // namespace segue
