// In-context recall and noisy recall of MAD (Poli et al. 2024): keys, each followed by its value, again and again.
//
// The lower half of the tokens are keys, the upper half values. A key has one value in an example, and is asked each
// time that it returns; the last is one that did. Noisy: with probability `noise` a pair of tokens from a vocabulary of
// its own, the upper half of all tokens, stands instead of a pair. An item is a key that may occur; MAD has all.
#include <memory>
#include <vector>

#include "base/error.h"
#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

struct KnownPair {
  int64_t value = -1;  // -1: the key did not occur yet
  int64_t token = 0;   // the key, where it stood last
};

class InContextRecallTask : public Task {
 public:
  // `noise_tokens` of the vocabulary are noise.
  InContextRecallTask(int64_t vocabulary, int64_t noise_tokens, double noise)
      : keys_((vocabulary - noise_tokens) / 2), noise_begin_(2 * keys_), noise_tokens_(noise_tokens), noise_(noise) {}

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(keys_, "items", part.items, "keys in this vocabulary");
    place.expect_at_least(3, "length", part.length, "tokens for a pair that returns");
    if (part.length % 2 == 0)
      throw ConfigError("{}: {}.length: expected an odd number, since pairs of tokens end with a target, found {}",
                        place.source, place.path, part.length);
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const std::vector<int64_t> keys = random.distinct(0, keys_, part.items);
    std::vector<KnownPair> pairs(static_cast<size_t>(keys_));
    std::vector<int64_t> shown;
    const int64_t count = (part.length + 1) / 2 - 1;
    const int64_t no_noise = random.below(count);  // one pair at least
    for (int64_t i = 0; i < count; ++i) {
      if (random.chance(noise_) && i != no_noise) {
        for (int token = 0; token < 2; ++token) example.add(noise_begin_ + random.below(noise_tokens_));
        continue;
      }
      const int64_t key = keys[static_cast<size_t>(random.below(part.items))];
      KnownPair& pair = pairs[static_cast<size_t>(key)];
      if (pair.value < 0) shown.push_back(key);
      add(key, pair, random, example);
    }
    const int64_t last = shown[static_cast<size_t>(random.below(std::ssize(shown)))];
    add(last, pairs[static_cast<size_t>(last)], random, example);
  }

 private:
  void add(int64_t key, KnownPair& pair, TaskRandom& random, TaskExample& example) const {
    const int64_t before = pair.token;
    pair.token = example.size();
    example.add(key);
    if (pair.value >= 0) {
      example.add_answer(pair.value, before);
      return;
    }
    pair.value = keys_ + random.below(keys_);
    example.add(pair.value);
  }

  int64_t keys_;
  int64_t noise_begin_;
  int64_t noise_tokens_;
  double noise_;
};

}  // namespace

std::unique_ptr<Task> make_in_context_recall(const TaskSpec& spec, const SpecPlace& /*place*/) {
  return std::make_unique<InContextRecallTask>(spec.vocabulary, 0, 0.0);
}

std::unique_ptr<Task> make_noisy_recall(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(4, "vocabulary", spec.vocabulary, "tokens for keys, values and noise");
  return std::make_unique<InContextRecallTask>(spec.vocabulary, spec.vocabulary / 2, spec.noise);
}

}  // namespace segue
