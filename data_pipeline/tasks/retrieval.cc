// Retrieval from fast weights (Schlag et al. 2021, "Linear transformers are secretly fast weight programmers", 6.1):
// pairs of keys and values, then one key, whose value is the answer.
//
// N keys and N values. Without replacement each key and each value is in one pair, in random order. With replacement
// both are drawn for every pair, and the last value of a key counts; published: 2 N pairs in training, N afterwards.
// Each of the keys that stand in an example is asked for as often, as there when a model is tested.
// Published is a model for each N; the preset trains with the largest one alone and is tested with smaller ones too.
// Keys are the tokens from 1 to N, values those from (vocabulary + 1) / 2 on.
#include <fmt/format.h>

#include <iterator>
#include <set>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class Retrieval : public Task {
 public:
  explicit Retrieval(const TaskSpec& spec) : replacement_(spec.replacement), first_value_((spec.vocabulary + 1) / 2) {}

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(first_value_ - 1, "items", part.items, "keys in the lower half of the vocabulary, without 0");
    place.expect_at_least(2 * pairs_of(part) + 1, "length", part.length,
                          fmt::format("for {} pairs and a query", pairs_of(part)));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const int64_t pairs = pairs_of(part);
    const std::vector<int64_t> keys = drawn(part.items, pairs, random);
    const std::vector<int64_t> values = drawn(part.items, pairs, random);
    for (size_t i = 0; i < keys.size(); ++i) {
      example.add(1 + keys[i]);
      example.add(first_value_ + values[i]);
    }
    const std::set<int64_t> different(keys.begin(), keys.end());
    const int64_t asked = *std::next(different.begin(), random.below(std::ssize(different)));
    int64_t last = pairs - 1;
    while (keys[static_cast<size_t>(last)] != asked) --last;
    example.add(1 + asked);
    example.add_answer(first_value_ + values[static_cast<size_t>(last)], 2 * last + 1);
    example.pad(part.length + 1, filler());
  }

 private:
  int64_t pairs_of(const TaskPart& part) const { return part.pairs > 0 ? part.pairs : part.items; }

  std::vector<int64_t> drawn(int64_t of, int64_t count, TaskRandom& random) const {
    if (!replacement_) return random.distinct(0, of, count);
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int64_t& number : numbers) number = random.below(of);
    return numbers;
  }

  bool replacement_;
  int64_t first_value_;
};

}  // namespace

std::unique_ptr<Task> make_retrieval(const TaskSpec& spec, const SpecPlace& /*place*/) {
  return std::make_unique<Retrieval>(spec);
}

}  // namespace segue
