// Retrieval of a passkey (Mohtashami and Jaggi 2023, "Landmark attention"): a number from 1 to 50,000 in text that has
// nothing to do with it.
//
// The filler is text of a dataset, where the authors repeat five sentences; the place of the number in it is uniform.
#include <fmt/format.h>

#include "data_pipeline/tasks/filler_text.h"

namespace segue {

namespace {

constexpr int64_t kLargestKey = 50000;

class PasskeyTask : public TextTask {
 public:
  using TextTask::TextTask;

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(1, "items", part.items, "passkey (kind = \"needles\" hides several)");
    TextTask::check(part, place);
  }

 protected:
  void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const override {
    const std::string key = fmt::format(" {}", random.between(1, kLargestKey));
    hide({.intro = "There is an important info hidden inside a lot of irrelevant text. Find it and memorize it. I will "
                   "quiz you about the important information there.",
          .hidden = {{" The pass key is", key, ". Remember it.", key, " is the pass key."}},
          .question = {" What is the pass key? The pass key is"},
          .answers = {{.text = key, .decided_by = 0}}},
         part, place, random, example);
  }
};

}  // namespace

std::unique_ptr<Task> make_passkey(const TaskSpec& spec, const SpecPlace& place) {
  return std::make_unique<PasskeyTask>(spec, place);
}

}  // namespace segue
