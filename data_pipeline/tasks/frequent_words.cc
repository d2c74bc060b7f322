// Frequent words of RULER (Hsieh et al. 2024): made-up words, whose counts fall with the square of their rank.
//
// Of N words the one of rank k stands floor(N / (zeta(2) k^2)) times, in random order; N is as large as the example
// holds. Rank 1 is "...", which the question excludes; an item is one of the words asked (published: 3), in the order
// of their counts. There is a word for each 50 tokens of the length. What room is left, text of the dataset takes in
// front.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/json_text.h"
#include "data_pipeline/tasks/filler_text.h"

namespace segue {

namespace {

constexpr int64_t kLettersOfCode = 6;
constexpr int64_t kTokensOfWord = 50;
constexpr double kZetaOfTwo = 1.6449340668482264;

int64_t count_of(int64_t all, int64_t rank) {
  return static_cast<int64_t>(static_cast<double>(all) / (kZetaOfTwo * static_cast<double>(rank * rank)));
}

class FrequentWordsTask : public TextTask {
 public:
  using TextTask::TextTask;

 protected:
  void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const override {
    const TextTokens intro = filler_text().encode(
        " Read the following coded text and track the frequency of each coded word. Find the most frequently appeared "
        "coded words.");
    const TextTokens question = filler_text().encode(fmt::format(
        " Question: Please ignore the dots '...'. What are the {0} most frequently appeared words in the above "
        "coded text? Answer: According to the coded text above, the {0} most frequently appeared words are:",
        part.items));
    std::vector<TextTokens> words{filler_text().encode(" ...")};
    const int64_t different = std::max(part.length / kTokensOfWord, part.items + 2);
    for (const std::string& name : MadeUpWords(kLettersOfCode, 'a', random).next(different - 1))
      words.push_back(filler_text().encode(fmt::format(" {}", name)));
    int64_t room = part.length + 1 - std::ssize(intro) - std::ssize(question);
    for (int64_t i = 1; i <= part.items; ++i) room -= std::ssize(words[static_cast<size_t>(i)]);

    int64_t all = 0;  // the largest N that fits
    for (int64_t step = std::bit_floor(static_cast<uint64_t>(part.length) * 2); step > 0; step /= 2)
      if (tokens_of(all + step, words) <= room) all += step;
    if (!have_different_counts(all, part.items))
      throw ConfigError("{}: {}: expected tokens for {} words of different counts, found {}", place.source,
                        join_json_path(place.path, "length"), part.items, part.length);

    std::vector<size_t> list;
    for (size_t i = 0; i < words.size(); ++i)
      list.insert(list.end(), static_cast<size_t>(count_of(all, static_cast<int64_t>(i) + 1)), i);
    random.draw_to_front(std::span(list), std::ssize(list));

    add(filler_text().draw(room - tokens_of(all, words), random), example);
    add(intro, example);
    std::vector<int64_t> first(words.size(), -1);
    for (const size_t word : list) {
      if (first[word] < 0) first[word] = example.size();
      add(words[word], example);
    }
    add(question, example);
    for (int64_t i = 1; i <= part.items; ++i)
      add_answer(words[static_cast<size_t>(i)], first[static_cast<size_t>(i)], example);
  }

 private:
  static int64_t tokens_of(int64_t all, const std::vector<TextTokens>& words) {
    int64_t tokens = 0;
    for (size_t i = 0; i < words.size(); ++i)
      tokens += count_of(all, static_cast<int64_t>(i) + 1) * std::ssize(words[i]);
    return tokens;
  }

  // Those asked, and the one after them.
  static bool have_different_counts(int64_t all, int64_t items) {
    for (int64_t rank = 2; rank < items + 2; ++rank)
      if (count_of(all, rank) <= count_of(all, rank + 1)) return false;
    return true;
  }
};

}  // namespace

std::unique_ptr<Task> make_frequent_words(const TaskSpec& spec, const SpecPlace& place) {
  return std::make_unique<FrequentWordsTask>(spec, place);
}

}  // namespace segue
