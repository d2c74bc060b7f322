// Induction heads (Gu and Dao 2023, "Mamba", after Fu et al. 2022): random symbols with a special token once among
// them, and again at the end; what followed it the first time is the answer; published: 256 tokens, a vocabulary of 16,
// tested to 2^20.
//
// The special token is the vocabulary's last.
#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class Induction : public Task {
 public:
  explicit Induction(const TaskSpec& spec) : symbols_(spec.vocabulary - 1) {}

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(1, "items", part.items, "special token");
    place.expect_at_least(3, "length", part.length, "for the special token twice and what follows it");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const int64_t special = random.below(part.length - 2);
    for (int64_t i = 0; i < part.length - 1; ++i) example.add(i == special ? symbols_ : random.below(symbols_));
    example.add(symbols_);
    example.add_copy(special + 1, true);
  }

 private:
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_induction(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(3, "vocabulary", spec.vocabulary, "for two symbols and the special token");
  return std::make_unique<Induction>(spec);
}

}  // namespace segue
