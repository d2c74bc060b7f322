// Remember and rewrite by segments (Rodkin et al. 2024, "Associative Recurrent Memory Transformer"): one pair of a key
// and a value a segment, then a segment that asks for one key; published: 16 symbols, keys of 1 to 3, a value of one.
//
// Every segment is padded to `segment` tokens: KEY : VALUE, and the last one ? KEY : VALUE, whose value is the answer.
// To remember, all keys differ. To rewrite, keys are drawn with replacement, of half as many different ones as there
// are pairs (there of all, of which few return), and the last value of a key counts. Each of the keys that stand in an
// example is asked for as often. The last tokens of the vocabulary are ":", "?" and filler, the others
// symbols.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class Rewrite : public Task {
 public:
  explicit Rewrite(const TaskSpec& spec)
      : rewritten_(spec.rewritten),
        segment_(spec.segment),
        key_tokens_(spec.key_tokens),
        symbols_(spec.vocabulary - 3) {}

  int64_t filler() const override { return symbols_ + 2; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    if (!rewritten_)
      place.expect_at_most(count_of_strings(symbols_, key_tokens_), "items", part.items,
                           fmt::format("different keys of {} of {} symbols", key_tokens_, symbols_));
    place.expect_at_least((part.items + 1) * segment_, "length", part.length,
                          fmt::format("for {} segments of {} tokens", part.items + 1, segment_));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const std::vector<Key> keys = drawn_keys(part.items, random);
    std::vector<int64_t> values;
    for (const Key& key : keys) {
      values.push_back(random.below(symbols_));
      add_key(key, example);
      example.add(values.back());
      example.pad((example.size() + segment_ - 1) / segment_ * segment_, filler());
    }
    const std::set<Key> different(keys.begin(), keys.end());
    const Key& asked = *std::next(different.begin(), random.below(std::ssize(different)));
    const int64_t last = std::find(keys.rbegin(), keys.rend(), asked).base() - keys.begin() - 1;
    example.add(symbols_ + 1);
    add_key(asked, example);
    example.add_answer(values[static_cast<size_t>(last)], last * segment_ + key_tokens_ + 1);
    example.pad(part.length + 1, filler());
  }

 private:
  using Key = std::vector<int64_t>;

  void add_key(const Key& key, TaskExample& example) const {
    for (const int64_t symbol : key) example.add(symbol);
    example.add(symbols_);
  }

  Key drawn_key(TaskRandom& random) const {
    Key key(static_cast<size_t>(key_tokens_));
    for (int64_t& symbol : key) symbol = random.below(symbols_);
    return key;
  }

  std::vector<Key> drawn_keys(int64_t pairs, TaskRandom& random) const {
    const int64_t count = rewritten_ ? std::min((pairs + 1) / 2, count_of_strings(symbols_, key_tokens_)) : pairs;
    std::vector<Key> keys;
    std::set<Key> seen;
    while (std::ssize(keys) < count) {
      Key key = drawn_key(random);
      if (seen.insert(key).second) keys.push_back(std::move(key));
    }
    if (!rewritten_) return keys;
    std::vector<Key> of_pairs;
    for (int64_t i = 0; i < pairs; ++i) of_pairs.push_back(keys[static_cast<size_t>(random.below(count))]);
    return of_pairs;
  }

  bool rewritten_;
  int64_t segment_;
  int64_t key_tokens_;
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_rewrite(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(5, "vocabulary", spec.vocabulary, "for two symbols and three special tokens");
  place.expect_at_least(spec.key_tokens + 2, "segment", spec.segment,
                        fmt::format("for a key of {} and a value", spec.key_tokens));
  return std::make_unique<Rewrite>(spec);
}

}  // namespace segue
