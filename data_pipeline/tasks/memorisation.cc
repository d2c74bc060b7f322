// Memorisation of MAD (Poli et al. 2024): keys whose values are the same in all examples, and shown in none before they
// are asked, so that weights must hold them.
//
// A table that the seed draws once pairs the lower half of the tokens with the upper. MAD writes a mark where the value
// is asked; here it stands in the row, as the next token's prediction wants it, and no key stands twice in an example.
// An item is a fact of the table that may be asked.
#include <memory>
#include <vector>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class MemorisationTask : public Task {
 public:
  MemorisationTask(int64_t vocabulary, uint64_t seed) : keys_(vocabulary / 2), filler_(vocabulary - 1) {
    TaskRandom random(seed, TaskRandom::kShared, 0);
    values_ = random.distinct(keys_, 2 * keys_, keys_);
  }
  int64_t filler() const override { return filler_; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(keys_, "items", part.items, "keys in this vocabulary");
    place.expect_at_most(2 * part.items, "length", part.length, "tokens, since no key stands twice");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    for (const int64_t key : random.distinct(0, part.items, (part.length + 1) / 2)) {
      example.add(key);
      example.add(values_[static_cast<size_t>(key)], TokenMark::answer(0));
    }
    example.pad(part.length + 1, filler_);
  }

 private:
  int64_t keys_;
  int64_t filler_;
  std::vector<int64_t> values_;
};

}  // namespace

std::unique_ptr<Task> make_memorisation(const TaskSpec& spec, const SpecPlace& /*place*/) {
  return std::make_unique<MemorisationTask>(spec.vocabulary, static_cast<uint64_t>(spec.seed));
}

}  // namespace segue
