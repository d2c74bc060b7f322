// Compression of MAD (Poli et al. 2024): symbols, of which each must be known again by its place.
//
// MAD reads 31 random symbols and a mark, and trains a decoder that restores each of them from the model's output at
// the mark and its place. Here the model answers itself: behind the symbols stands every place once, in random order,
// each followed by the symbol that stands there. The tokens of places are the last of the vocabulary, as many as the
// most items of any part; the others are symbols.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class CompressionTask : public Task {
 public:
  CompressionTask(int64_t vocabulary, int64_t places) : symbols_(vocabulary - places) {}
  int64_t filler() const override { return symbols_; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(3 * part.items - 1, "length", part.length,
                          fmt::format("tokens for {} symbols, all asked for", part.items));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    for (int64_t i = 0; i < part.items; ++i) example.add(random.below(symbols_));
    for (const int64_t asked : random.distinct(0, part.items, part.items)) {
      example.add(symbols_ + asked);
      example.add_answer(example.tokens[static_cast<size_t>(asked)], asked);
    }
    example.pad(part.length + 1, filler());
  }

 private:
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_compression(const TaskSpec& spec, const SpecPlace& place) {
  int64_t places = 1;
  for (const TaskSplit& split : spec.splits)
    for (const TaskPart& part : split.parts) places = std::max(places, part.items);
  place.expect_at_least(places + 2, "vocabulary", spec.vocabulary,
                        fmt::format("tokens for {} places and symbols", places));
  return std::make_unique<CompressionTask>(spec.vocabulary, places);
}

}  // namespace segue
