// Programs over a few variables, whose printed values are asked for: the algorithmic task of the Feedback Transformer
// (Fan et al. 2020).
//
// Statements are drawn as the authors' generator draws them: each of `x = 4 ;`, `x ++ ;`, `x -- ;`, `print x ;` and
// `if x < 5 : y ++ ;` (also `>`, and a variable instead of the number) alike; what is impossible is drawn again: a
// second assignment to a variable, a value beyond 1 to 10, the reading of one without a value. What differs: the
// answer stands in the row, as the next token's prediction wants it (`print x 4 ;`), and a program is as long as the
// example, 100 statements in about 460 tokens, where theirs has 100 and follows the program before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

constexpr int64_t kValues = 10;  // value v is token v - 1
enum Word : int64_t { kAssign = kValues, kIncrement, kDecrement, kIf, kLess, kGreater, kThen, kPrint, kStop, kEnd };
constexpr int64_t kFirstName = kEnd + 1;
constexpr int64_t kLongestStatement = 9;  // if x < y : z = 5 ;

struct Variable {
  int64_t value = 0;       // 0: none yet
  int64_t decided_by = 0;  // the first token on which the value depends
};

class Program {
 public:
  Program(int64_t variables, TaskRandom& random, TaskExample& example)
      : variables_(static_cast<size_t>(variables)), random_(random), example_(example) {}

  void add_statement() {
    while (!add_if_possible(random_.below(5))) {
    }
    example_.add(kStop);
  }

 private:
  bool add_if_possible(int64_t statement) {
    if (statement == 0) return add_print();
    if (statement == 1) return add_condition();
    return add_change(statement, variables_);
  }

  // Assigns to, increments or decrements one of `variables`, which are those of the program or a copy of them.
  bool add_change(int64_t statement, std::vector<Variable>& variables, std::optional<int64_t> condition = {}) {
    const std::optional<size_t> place = draw(statement != 2);
    if (!place) return false;
    Variable& changed = variables[*place];
    if (statement == 3 && changed.value == kValues) return false;
    if (statement == 4 && changed.value == 1) return false;
    add_name(*place);
    example_.add(statement == 2 ? kAssign : statement == 3 ? kIncrement : kDecrement);
    if (statement == 2) {
      changed = {random_.between(1, kValues), example_.size()};
      example_.add(changed.value - 1);
    } else {
      changed.value += statement == 3 ? 1 : -1;
    }
    if (condition) changed.decided_by = std::min(changed.decided_by, *condition);
    return true;
  }

  bool add_print() {
    const std::optional<size_t> place = draw(true);
    if (!place) return false;
    Variable& printed = variables_[*place];
    example_.add(kPrint);
    add_name(*place);
    example_.add_answer(printed.value - 1, printed.decided_by);
    printed.decided_by = example_.size() - 1;
    return true;
  }

  bool add_condition() {
    const std::optional<size_t> left = draw(true);
    if (!left) return false;
    const bool with_variable = random_.below(2) == 0;
    const std::optional<size_t> right = with_variable ? draw(true, left) : std::nullopt;
    if (with_variable && !right) return false;
    const int64_t number = right ? variables_[*right].value : random_.between(1, kValues);
    const bool is_less = random_.below(2) == 0;
    const int64_t value = variables_[*left].value;
    const bool holds = is_less ? value < number : value > number;
    int64_t decided_by = variables_[*left].decided_by;
    if (right) decided_by = std::min(decided_by, variables_[*right].decided_by);

    example_.add(kIf);
    add_name(*left);
    example_.add(is_less ? kLess : kGreater);
    if (right) add_name(*right);
    if (!right) example_.add(number - 1);
    example_.add(kThen);
    std::vector<Variable> changed = variables_;
    while (!add_change(random_.between(2, 4), changed, decided_by)) {
    }
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (holds) variables_[i] = changed[i];
      // That it did not change is known by the condition, too.
      if (!holds && variables_[i].value != 0) variables_[i].decided_by = changed[i].decided_by;
    }
    return true;
  }

  // One of those that have a value, or that have none; but not `other`.
  std::optional<size_t> draw(bool with_value, std::optional<size_t> other = {}) {
    std::vector<size_t> places;
    for (size_t i = 0; i < variables_.size(); ++i)
      if ((variables_[i].value != 0) == with_value && i != other) places.push_back(i);
    if (places.empty()) return {};
    return places[static_cast<size_t>(random_.below(std::ssize(places)))];
  }

  void add_name(size_t place) { example_.add(kFirstName + static_cast<int64_t>(place)); }

  std::vector<Variable> variables_;
  TaskRandom& random_;
  TaskExample& example_;
};

class VariablesTask : public Task {
 public:
  explicit VariablesTask(int64_t vocabulary) : vocabulary_(vocabulary) {}
  int64_t filler() const override { return kEnd; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_most(vocabulary_ - kFirstName, "items", part.items,
                         fmt::format("variables besides {} values and words of {} tokens", kFirstName, vocabulary_));
    place.expect_at_least(2 * kLongestStatement, "length", part.length, "tokens for a few statements");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    Program program(part.items, random, example);
    while (example.size() + kLongestStatement <= part.length) program.add_statement();
    example.pad(part.length + 1, kEnd);
  }

 private:
  int64_t vocabulary_;
};

}  // namespace

std::unique_ptr<Task> make_variables(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(kFirstName + 1, "vocabulary", spec.vocabulary, "tokens for values, words and a variable");
  return std::make_unique<VariablesTask>(spec.vocabulary);
}

}  // namespace segue
