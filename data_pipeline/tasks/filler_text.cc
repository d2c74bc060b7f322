#include "data_pipeline/tasks/filler_text.h"

#include <algorithm>

#include "base/error.h"

namespace segue {

namespace {

Dataset open_filler(const TaskSpec& spec, const SpecPlace& place) {
  if (spec.filler.empty())
    throw ConfigError("{}: filler: expected the directory of a dataset, found none", place.source);
  return Dataset(spec.filler);
}

std::unique_ptr<Tokenizer> tokenizer_of(const Dataset& dataset, const SpecPlace& place) {
  std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  if (tokenizer == nullptr)
    throw ConfigError("{}: filler: expected a dataset with a tokenizer, found ready-made tokens in {}", place.source,
                      dataset.directory().string());
  return tokenizer;
}

}  // namespace

FillerText::FillerText(const TaskSpec& spec, const SpecPlace& place)
    : place_(place),
      dataset_(open_filler(spec, place)),
      tokenizer_(tokenizer_of(dataset_, place)),
      source_(dataset_.split(spec.filler_split)) {}

TextTokens FillerText::encode(std::string_view text) const {
  const std::unique_ptr<Encoder> encoder = tokenizer_->make_encoder();
  bool is_known = true;
  try {
    encoder->begin_file("text of the task", 0);
    encoder->append(text);
    encoder->end_file();
    encoder->end_split();
  } catch (const DataError&) {  // of a vocabulary without the character
    is_known = false;
  }
  if (!is_known || encoder->unknown() > 0)
    throw ConfigError(R"({}: filler: expected a dataset whose tokenizer can write "{}", found one of kind "{}" in {})",
                      place_.source, text, name_of_choice(tokenizer_->info().kind), dataset_.directory().string());
  return {encoder->tokens().begin(), encoder->tokens().end()};
}

TextTokens FillerText::encode(const TextPieces& pieces) const {
  TextTokens tokens;
  for (const std::string& piece : pieces) {
    const TextTokens of_piece = encode(piece);
    tokens.insert(tokens.end(), of_piece.begin(), of_piece.end());
  }
  return tokens;
}

TextTokens FillerText::draw(int64_t count, TaskRandom& random) const {
  TextTokens tokens(static_cast<size_t>(count));
  const int64_t begin = random.below(source_.tokens() - count + 1);
  source_.read(begin, tokens);
  return tokens;
}

TextTask::TextTask(const TaskSpec& spec, const SpecPlace& place)
    : place_(place), seed_(static_cast<uint64_t>(spec.seed)), text_(spec, place) {}

// How many tokens an example takes depends on what is drawn: a few are tried.
void TextTask::check(const TaskPart& part, const SpecPlace& place) const {
  place.expect_at_most(text_.tokens() - 1, "length", part.length, "tokens, as the split of `filler` has");
  constexpr uint64_t kTried = 8;
  for (uint64_t i = 0; i < kTried; ++i) {
    TaskRandom random(seed_, TaskRandom::kShared, i);
    TaskExample example;
    fill(part, place, random, example);
  }
}

void TextTask::make(const TaskPart& part, TaskRandom& random, TaskExample& example) const {
  fill(part, place_, random, example);
}

void TextTask::hide(const HiddenText& content, const TaskPart& part, const SpecPlace& place, TaskRandom& random,
                    TaskExample& example) const {
  const TextTokens intro = text_.encode(content.intro);
  const TextTokens question = text_.encode(content.question);
  std::vector<TextTokens> leads;  // what decides nothing yet
  std::vector<TextTokens> hidden;
  std::vector<TextTokens> answers;
  int64_t taken = std::ssize(intro) + std::ssize(question);
  for (const TextPieces& pieces : content.hidden) {
    leads.push_back(text_.encode(pieces.front()));
    hidden.push_back(text_.encode(TextPieces(pieces.begin() + 1, pieces.end())));
    taken += std::ssize(leads.back()) + std::ssize(hidden.back());
  }
  for (const TextAnswer& answer : content.answers) {
    answers.push_back(text_.encode(answer.text));
    taken += std::ssize(answers.back());
  }
  place.expect_at_least(taken - 1, "length", part.length, "tokens for what is hidden and asked");

  const TextTokens filler = text_.draw(part.length + 1 - taken, random);
  std::vector<int64_t> cuts(hidden.size());
  for (int64_t& cut : cuts) cut = random.below(std::ssize(filler) + 1);
  std::sort(cuts.begin(), cuts.end());
  add(intro, example);
  std::vector<int64_t> begins;
  int64_t done = 0;
  for (size_t i = 0; i < hidden.size(); ++i) {
    add({filler.begin() + done, filler.begin() + cuts[i]}, example);
    done = cuts[i];
    add(leads[i], example);
    begins.push_back(example.size());
    add(hidden[i], example);
  }
  add({filler.begin() + done, filler.end()}, example);
  add(question, example);
  for (size_t i = 0; i < answers.size(); ++i) add_answer(answers[i], begins[content.answers[i].decided_by], example);
}

void TextTask::add(const TextTokens& tokens, TaskExample& example) const {
  for (const int32_t token : tokens) example.add(token);
}

void TextTask::add_answer(const TextTokens& tokens, int64_t decided_by, TaskExample& example) const {
  const size_t first = text_.is_of_characters() ? 1 : 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i < first)
      example.add(tokens[i]);
    else if (i == first)
      example.add_answer(tokens[i], decided_by);
    else
      example.add_further(tokens[i], decided_by);
  }
}

std::string MadeUpWords::next() {
  constexpr int64_t kLetters = 26;
  while (true) {
    std::string word;
    for (int64_t i = 0; i < letters_; ++i) word += static_cast<char>(first_ + random_.below(kLetters));
    if (known_.insert(word).second) return word;
  }
}

std::vector<std::string> MadeUpWords::next(int64_t count) {
  std::vector<std::string> words;
  for (int64_t i = 0; i < count; ++i) words.push_back(next());
  return words;
}

}  // namespace segue
