// Fuzzy recall of MAD (Poli et al. 2024): in-context recall whose keys and values are of one to three tokens.
//
// The lower half of the tokens spell keys, the upper half values, the last pads. A key is as many different tokens as
// is drawn, up to `items`, and so is a value; a key that returns is asked, and the last is one that did. As in MAD
// nothing says where a key ends, so that its first tokens may be another key. What differs: MAD's test splits have only
// keys of the most tokens, ours are like the training's.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

using Motif = std::vector<int64_t>;

struct FuzzyPair {
  Motif value;
  int64_t token = 0;  // the key's first, where it stood last
};

class FuzzyRecallTask : public Task {
 public:
  explicit FuzzyRecallTask(int64_t vocabulary)
      : keys_((vocabulary - 1) / 2), values_(vocabulary - 1 - keys_), filler_(vocabulary - 1) {}
  int64_t filler() const override { return filler_; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    // A key of all tokens would be told from its end by nothing.
    place.expect_at_most(std::max<int64_t>(1, keys_ - 1), "items", part.items,
                         "different tokens for a key, one fewer than there are");
    place.expect_at_least(4 * part.items - 1, "length", part.length, "tokens for a pair that returns");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    std::map<Motif, FuzzyPair> pairs;
    std::vector<Motif> shown;
    // Room for the longest pair stays free, for the last.
    while (example.size() + 4 * part.items <= part.length + 1) {
      const Motif key = draw(0, keys_, part.items, random);
      Motif value = draw(keys_, keys_ + values_, part.items, random);
      const auto [pair, is_new] = pairs.try_emplace(key, FuzzyPair{.value = std::move(value)});
      if (is_new) shown.push_back(key);
      add(key, pair->second, is_new, example);
    }
    const Motif& last = shown[static_cast<size_t>(random.below(std::ssize(shown)))];
    add(last, pairs.at(last), false, example);
    example.pad(part.length + 1, filler_);
  }

 private:
  static Motif draw(int64_t first, int64_t end, int64_t most, TaskRandom& random) {
    return random.distinct(first, end, random.between(1, most));
  }

  static void add(const Motif& key, FuzzyPair& pair, bool is_new, TaskExample& example) {
    const int64_t before = pair.token;
    pair.token = example.size();
    for (const int64_t token : key) example.add(token);
    for (size_t i = 0; i < pair.value.size(); ++i) {
      if (is_new)
        example.add(pair.value[i]);
      else if (i == 0)
        example.add_answer(pair.value[i], before);
      else
        example.add_further(pair.value[i], before);
    }
  }

  int64_t keys_;
  int64_t values_;
  int64_t filler_;
};

}  // namespace

std::unique_ptr<Task> make_fuzzy_recall(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(3, "vocabulary", spec.vocabulary, "tokens for keys, values and filler");
  return std::make_unique<FuzzyRecallTask>(spec.vocabulary);
}

}  // namespace segue
