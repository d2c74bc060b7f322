// The order in which the examples of a split are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data_pipeline/tasks/task_spec.h"

namespace segue {

// Of a mixed split, the next example is one of the part that lags most behind its share; otherwise part follows part.
class ExampleOrder {
 public:
  explicit ExampleOrder(const TaskSplit& split);

  int64_t examples() const { return examples_; }
  // Turns to the next example, the first at first; false: there was none.
  bool next();
  size_t part() const { return part_; }
  int64_t number() const { return made_[part_] - 1; }  // among those of its part

 private:
  std::vector<int64_t> wanted_;  // by part
  std::vector<int64_t> made_;
  int64_t examples_ = 0;
  int64_t turned_ = 0;
  bool is_mixed_;
  size_t part_ = 0;
};

// Tokens to which the examples of a part are padded.
int64_t padded_tokens(const TaskSplit& split, size_t part);

}  // namespace segue
