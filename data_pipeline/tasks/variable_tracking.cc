// Variable tracking of RULER (Hsieh et al. 2024): a value, a variable that is assigned it, and variables that are
// assigned the one before.
//
// An item is a variable of a chain: published are 1 chain and 4 hops, which is 5 items. The value of the first chain is
// asked. What differs: the answer names the variables in the order of the text, the only one that prediction of the
// next token can score, and the noise is text of a dataset.
#include <fmt/format.h>

#include <algorithm>

#include "data_pipeline/tasks/filler_text.h"

namespace segue {

namespace {

constexpr int64_t kLettersOfVariable = 5;
constexpr int64_t kSmallestValue = 10000;
constexpr int64_t kLargestValue = 99999;

class VariableTrackingTask : public TextTask {
 public:
  VariableTrackingTask(const TaskSpec& spec, const SpecPlace& place) : TextTask(spec, place), chains_(spec.chains) {}

 protected:
  void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const override {
    constexpr int64_t kMostNames = 1000000;  // a twelfth of the words of five letters: drawing stays quick
    place.expect_at_most(std::min(part.length, kMostNames) / chains_, "items", part.items,
                         fmt::format("variables in each of {} chains", chains_));
    const std::vector<std::string> names = MadeUpWords(kLettersOfVariable, 'A', random).next(chains_ * part.items);
    const std::vector<int64_t> values = random.distinct(kSmallestValue, kLargestValue + 1, chains_);
    std::vector<int64_t> turns;  // the chain of each assignment
    for (int64_t i = 0; i < chains_ * part.items; ++i) turns.push_back(i % chains_);
    if (chains_ > 1) random.draw_to_front(std::span(turns), std::ssize(turns));

    HiddenText content{.intro = "Memorize and track the chain(s) of variable assignment hidden in the following text."};
    std::vector<std::string> last(static_cast<size_t>(chains_));  // variable of each chain
    size_t first_place = 0;
    for (size_t i = 0; i < turns.size(); ++i) {
      const auto chain = static_cast<size_t>(turns[i]);
      const std::string name = " " + names[i];
      const bool is_first = last[chain].empty();
      const std::string assigned = is_first ? fmt::format(" {}", values[chain]) : last[chain];
      content.hidden.push_back({" VAR", name, is_first ? " =" : " = VAR", assigned, "."});
      last[chain] = name;
      if (chain != 0) continue;
      if (is_first) first_place = i;
      content.answers.push_back({.text = name, .decided_by = first_place});
    }
    const std::string value = fmt::format(" {}", values[0]);
    content.question = {
        " Question: Find all variables that are assigned the value", value,
        fmt::format(" in the text above. Answer: According to the chain(s) of variable assignment in the text above, "
                    "{} variables are assigned the value",
                    part.items),
        value, ", they are:"};
    hide(content, part, place, random, example);
  }

 private:
  int64_t chains_;
};

}  // namespace

std::unique_ptr<Task> make_variable_tracking(const TaskSpec& spec, const SpecPlace& place) {
  return std::make_unique<VariableTrackingTask>(spec, place);
}

}  // namespace segue
