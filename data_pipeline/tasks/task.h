// A synthetic task: a source of examples whose answers only a model that remembers can know.
//
// An example is a row of tokens and, beside each, a mark: whether the token is a target that is scored, whether it
// goes on with the answer of the scored target before it, and how far back what decides it stands. Examples are pure
// functions of seed, split, part and number, by integers and such floating-point operations as every machine rounds
// alike: the same on every machine, in any order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data_pipeline/tasks/task_random.h"
#include "data_pipeline/tasks/task_spec.h"
#include "data_pipeline/token_mark.h"

namespace segue {

class Dataset;

struct TaskExample {
  std::vector<int32_t> tokens;
  std::vector<TokenMark> marks;  // one for each token

  int64_t size() const { return std::ssize(tokens); }
  void clear();
  void add(int64_t token, TokenMark mark = {});
  // With the token that decides it at `decided_by`, counted from the example's first.
  void add_answer(int64_t token, int64_t decided_by);
  void add_further(int64_t token, int64_t decided_by);  // goes on with the answer of the token before
  void add_copy(int64_t of, bool is_first);             // the token at `of` again, as an answer or going on with it
  void pad(int64_t size, int64_t filler);               // to so many tokens, not scored
};

class Task {
 public:
  virtual ~Task() = default;

  // A token for what pads examples that are shorter than the longest of their split, never scored.
  virtual int64_t filler() const { return 0; }

  // The dataset whose tokenizer wrote the tokens, and whose vocabulary they have; null: they are numbers alone.
  virtual const Dataset* text() const { return nullptr; }

  // Throws ConfigError, naming the part's place, for what no example can meet: more pairs than the vocabulary or the
  // length hold.
  virtual void check(const TaskPart& part, const SpecPlace& place) const = 0;

  // Fills an empty example of part.length + 1 tokens, as many rows of a model as part.length.
  virtual void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const = 0;
};

// Throws ConfigError naming `source`, the key, expected and found, for itself and all parts.
std::unique_ptr<Task> make_task(const TaskSpec& spec, const std::string& source);

// The fewest items of a part's examples, and a number from there to part.items.
int64_t fewest_items(const TaskPart& part);
int64_t draw_items(const TaskPart& part, TaskRandom& random);

// Strings of so many tokens of so many symbols; at most 2^62 is said.
int64_t count_of_strings(int64_t symbols, int64_t tokens);

// Of one kind, in the file of each.
using TaskMaker = std::unique_ptr<Task>(const TaskSpec& spec, const SpecPlace& place);

// Fills `example` with the `number`th of a part of a split, both counted from 0.
void make_example(const Task& task, const TaskSpec& spec, size_t split, size_t part, int64_t number,
                  TaskExample& example);

}  // namespace segue
