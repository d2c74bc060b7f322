// Selective copying (Gu and Dao 2023, "Mamba"): symbols at random places among filler, then a mark and the symbols
// alone, in their order, which are one answer; published: 16 symbols among 4096 tokens, a vocabulary of 16.
//
// Of the `length` rows, all but the last `items` are for symbols and filler. The last tokens of the vocabulary are the
// mark and filler, the others symbols.
#include <fmt/format.h>

#include <algorithm>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class SelectiveCopy : public Task {
 public:
  explicit SelectiveCopy(const TaskSpec& spec) : symbols_(spec.vocabulary - 2) {}

  int64_t filler() const override { return symbols_ + 1; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(2 * part.items, "length", part.length, fmt::format("for {} symbols twice", part.items));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const int64_t context = part.length - part.items;
    std::vector<int64_t> places = random.distinct(0, context, part.items);
    std::sort(places.begin(), places.end());
    for (const int64_t place : places) {
      example.pad(place, filler());
      example.add(random.below(symbols_));
    }
    example.pad(context, filler());
    example.add(symbols_);
    for (const int64_t place : places) example.add_copy(place, place == places.front());
  }

 private:
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_selective_copy(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(4, "vocabulary", spec.vocabulary, "for two symbols, a mark and filler");
  return std::make_unique<SelectiveCopy>(spec);
}

}  // namespace segue
