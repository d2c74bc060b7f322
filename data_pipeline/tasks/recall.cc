// Associative recall with several queries (MQAR, Arora et al. 2023, "Zoology", as its program makes it).
//
// First pairs of a key and a value, keys drawn without replacement from [1, V / 2), values from [V / 2, V); then places
// of two tokens, in which the keys are asked for, each once. Pair after pair draws its place, of those left, with a
// probability that falls with the place x = 1, 2, ... as x^-0.99. All other tokens are drawn from the vocabulary, so
// the key of the question is told by its scored answer alone.
//
// There, the label stands at the query's place while the next input is filler; here, as a language model has it, the
// value is the token after its key.
//
// With `reassigned`, pairs of that share of the keys with other values follow the first ones, and those values count.
// There, what stands where no key is asked for begins with none of the example's keys: it would be assigned again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

// x^-0.99 = x^0.01 / x, times 2^40. Square roots, products and a quotient are rounded alike by every processor, and
// there is no sum that some would fuse with a product.
int64_t weight_of_place(int64_t x) {
  constexpr uint32_t kExponent = 42949673;  // 0.01, times 2^32
  double power = 1.0;
  auto root = static_cast<double>(x);
  for (uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
    root = std::sqrt(root);
    if ((kExponent & bit) != 0) power *= root;
  }
  return static_cast<int64_t>(power / static_cast<double>(x) * 0x1p40);
}

class Recall : public Task {
 public:
  explicit Recall(const TaskSpec& spec) : reassigned_(spec.reassigned), vocabulary_(spec.vocabulary) {
    int64_t places = 0;
    for (const TaskSplit& split : spec.splits)
      for (const TaskPart& part : split.parts) places = std::max(places, places_of(part));
    for (int64_t x = 1; x <= places; ++x) weights_.push_back(weight_of_place(x));
  }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(first_value() - 1, "items", part.items, "keys in the lower half of the vocabulary, without 0");
    place.expect_at_most(vocabulary_ - first_value() - reassigned_of(part), "items", part.items,
                         "values in the upper half of the vocabulary");
    place.expect_at_least(2 * pairs_of(part) + 2 * part.items, "length", part.length,
                          fmt::format("for {} pairs and {} queries", pairs_of(part), part.items));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    std::vector<int64_t> keys = random.distinct(1, first_value(), part.items);
    const std::vector<int64_t> values = random.distinct(first_value(), vocabulary_, pairs_of(part));
    std::vector<int64_t> pair_of_key(keys.size());
    for (int64_t i = 0; i < part.items; ++i) pair_of_key[static_cast<size_t>(i)] = i;
    const std::vector<int64_t> second = random.distinct(0, part.items, reassigned_of(part));
    for (size_t i = 0; i < second.size(); ++i)
      pair_of_key[static_cast<size_t>(second[i])] = part.items + static_cast<int64_t>(i);
    for (size_t i = 0; i < values.size(); ++i) {
      example.add(keys[i < keys.size() ? i : static_cast<size_t>(second[i - keys.size()])]);
      example.add(values[i]);
    }
    std::vector<int64_t> asked(static_cast<size_t>(places_of(part)), -1);
    WeightedDraw places(std::span<const int64_t>(weights_).first(asked.size()));
    for (int64_t key = 0; key < part.items; ++key) asked[static_cast<size_t>(places.draw(random))] = key;
    const std::set<int64_t> assigned(keys.begin(), keys.end());
    for (const int64_t key : asked) {
      if (key >= 0)
        add_question(key, keys, values, pair_of_key, example);
      else
        add_filler(assigned, random, example);
    }
    while (example.size() <= part.length) example.add(random.below(vocabulary_));
  }

 private:
  int64_t first_value() const { return vocabulary_ / 2; }
  int64_t reassigned_of(const TaskPart& part) const {
    return static_cast<int64_t>(reassigned_ * static_cast<double>(part.items));
  }
  int64_t pairs_of(const TaskPart& part) const { return part.items + reassigned_of(part); }
  int64_t places_of(const TaskPart& part) const { return std::max<int64_t>(0, part.length / 2 - pairs_of(part)); }

  void add_filler(const std::set<int64_t>& assigned, TaskRandom& random, TaskExample& example) const {
    int64_t first = random.below(vocabulary_);
    while (reassigned_ > 0.0 && assigned.contains(first)) first = random.below(vocabulary_);
    example.add(first);
    example.add(random.below(vocabulary_));
  }

  void add_question(int64_t key, const std::vector<int64_t>& keys, const std::vector<int64_t>& values,
                    const std::vector<int64_t>& pair_of_key, TaskExample& example) const {
    const int64_t pair = pair_of_key[static_cast<size_t>(key)];
    example.add(keys[static_cast<size_t>(key)]);
    example.add_answer(values[static_cast<size_t>(pair)], 2 * pair + 1);
  }

  double reassigned_;
  int64_t vocabulary_;
  std::vector<int64_t> weights_ = {};
};

}  // namespace

std::unique_ptr<Task> make_recall(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(4, "vocabulary", spec.vocabulary, "for a key and a value");
  return std::make_unique<Recall>(spec);
}

}  // namespace segue
