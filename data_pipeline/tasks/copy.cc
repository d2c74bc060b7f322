// Copying (Jelassi et al. 2024, "Repeat after me: transformers are better than state space models at copying"):
// symbols, a mark, then the same symbols, which are one answer; published: an alphabet of 26 and 5 to 20 symbols,
// drawn.
//
// `items` is the most symbols of an example, `shortest` the fewest. The last tokens of the vocabulary are the mark and
// filler, the others symbols.
#include <fmt/format.h>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class Copy : public Task {
 public:
  explicit Copy(const TaskSpec& spec) : symbols_(spec.vocabulary - 2) {}

  int64_t filler() const override { return symbols_ + 1; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(2 * part.items, "length", part.length, fmt::format("for {} symbols twice", part.items));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const int64_t count = draw_items(part, random);
    for (int64_t i = 0; i < count; ++i) example.add(random.below(symbols_));
    example.add(symbols_);
    for (int64_t i = 0; i < count; ++i) example.add_copy(i, i == 0);
    example.pad(part.length + 1, filler());
  }

 private:
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_copy(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(4, "vocabulary", spec.vocabulary, "for two symbols, a mark and filler");
  return std::make_unique<Copy>(spec);
}

}  // namespace segue
