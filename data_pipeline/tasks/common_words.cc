// Common words of RULER (Hsieh et al. 2024): a numbered list in which some words stand more often than others.
//
// An item is a common word (published: 10), which stands 30 times; as many others as the example holds stand 3 times.
// What differs: words are made up, of six letters, there is no example in front, and the answer names the words in the
// order in which they come first, the only one that prediction of the next token can score. What room is left, text of
// the dataset takes in front.
#include <fmt/format.h>

#include "base/error.h"
#include "data_pipeline/tasks/filler_text.h"

namespace segue {

namespace {

constexpr int64_t kLettersOfWord = 6;

class CommonWordsTask : public TextTask {
 public:
  CommonWordsTask(const TaskSpec& spec, const SpecPlace& place)
      : TextTask(spec, place), common_repeats_(spec.common_repeats), other_repeats_(spec.other_repeats) {
    if (common_repeats_ <= other_repeats_)
      throw ConfigError("{}: common_repeats: expected more than other_repeats, {}, found {}", place.source,
                        other_repeats_, common_repeats_);
  }

 protected:
  void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const override {
    const TextTokens intro = filler_text().encode(
        " Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones "
        "that appear most often.");
    const TextTokens question = filler_text().encode(
        fmt::format(" Question: What are the {0} most common words in the above list? Answer: The top {0} words that "
                    "appear most often in the list, in the order in which they first appear, are:",
                    part.items));
    MadeUpWords names(kLettersOfWord, 'a', random);
    std::vector<TextTokens> words;
    std::vector<size_t> list;
    int64_t taken = std::ssize(intro) + std::ssize(question);
    while (true) {
      const bool is_common = std::ssize(words) < part.items;
      const int64_t repeats = is_common ? common_repeats_ : other_repeats_;
      const TextTokens word = filler_text().encode(fmt::format(" {}", names.next()));
      const int64_t begin = std::ssize(list);
      const int64_t more = (repeats + (is_common ? 1 : 0)) * std::ssize(word) + number_tokens(begin, begin + repeats);
      const bool fits = taken + more <= part.length + 1;
      if (!fits && std::ssize(words) > part.items) break;
      if (!fits)
        place.expect_at_least(taken + more - 1, "length", part.length, "tokens for the common words and another");
      taken += more;
      list.insert(list.end(), static_cast<size_t>(repeats), words.size());
      words.push_back(word);
    }
    random.draw_to_front(std::span(list), std::ssize(list));

    add(filler_text().draw(part.length + 1 - taken, random), example);
    add(intro, example);
    std::vector<std::pair<size_t, int64_t>> common;  // with the token where it comes first
    std::vector<bool> is_known(words.size());
    for (size_t i = 0; i < list.size(); ++i) {
      add(number(static_cast<int64_t>(i)), example);
      if (std::cmp_less(list[i], part.items) && !is_known[list[i]]) common.emplace_back(list[i], example.size());
      is_known[list[i]] = true;
      add(words[list[i]], example);
    }
    add(question, example);
    for (const auto& [word, first] : common) add_answer(words[word], first, example);
  }

 private:
  // " 1." for entry 0.
  const TextTokens& number(int64_t entry) const {
    while (std::ssize(numbers_) <= entry)
      numbers_.push_back(filler_text().encode(fmt::format(" {}.", numbers_.size() + 1)));
    return numbers_[static_cast<size_t>(entry)];
  }

  int64_t number_tokens(int64_t begin, int64_t end) const {
    int64_t tokens = 0;
    for (int64_t entry = begin; entry < end; ++entry) tokens += std::ssize(number(entry));
    return tokens;
  }

  int64_t common_repeats_;
  int64_t other_repeats_;
  mutable std::vector<TextTokens> numbers_;  // of the entries so far, since the same return in each example
};

}  // namespace

std::unique_ptr<Task> make_common_words(const TaskSpec& spec, const SpecPlace& place) {
  return std::make_unique<CommonWordsTask>(spec, place);
}

}  // namespace segue
