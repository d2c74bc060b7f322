// Examples of tasks for tests: of one split with one part, and what they say.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "data_pipeline/tasks/task.h"
#include "tests/message_of.h"

namespace segue {

inline TaskSpec one_part(TaskSpec spec, const TaskPart& part) {
  spec.splits = {{.name = "train", .parts = {part}}};
  return spec;
}

inline void for_examples(const TaskSpec& spec, int64_t count, const std::function<void(const TaskExample&)>& visit) {
  const std::unique_ptr<Task> task = make_task(spec, "task.json");
  TaskExample example;
  for (int64_t number = 0; number < count; ++number) {
    make_example(*task, spec, 0, 0, number, example);
    ASSERT_EQ(example.size(), spec.splits[0].parts[0].length + 1);
    ASSERT_EQ(example.marks.size(), example.tokens.size());
    visit(example);
  }
}

inline std::vector<TaskExample> examples_of(const TaskSpec& spec, int64_t count) {
  std::vector<TaskExample> examples;
  for_examples(spec, count, [&examples](const TaskExample& example) { examples.push_back(example); });
  return examples;
}

inline int64_t answers_in(const TaskExample& example) {
  int64_t answers = 0;
  for (const TokenMark& mark : example.marks) answers += mark.is_scored() && !mark.continues() ? 1 : 0;
  return answers;
}

// Of tokens and marks: what a seed makes stays what it is.
inline std::string checksum_of_examples(const TaskSpec& spec, int64_t count) {
  Checksum checksum;
  for_examples(spec, count, [&checksum](const TaskExample& example) {
    checksum.update(std::as_bytes(std::span(example.tokens)));
    checksum.update(std::as_bytes(std::span(example.marks)));
  });
  return checksum.text();
}

// Pearson's sum for counts that are expected to be in proportion to `weights`.
inline double chi_square(const std::vector<int64_t>& counts, const std::vector<double>& weights) {
  double all = 0.0;
  double weight = 0.0;
  for (size_t i = 0; i < counts.size(); ++i) {
    all += static_cast<double>(counts[i]);
    weight += weights[i];
  }
  double sum = 0.0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * weights[i] / weight;
    const double off = static_cast<double>(counts[i]) - expected;
    sum += off * off / expected;
  }
  return sum;
}

// Below the quantile of 0.9999 (Wilson and Hilferty).
inline void expect_shares(const std::vector<int64_t>& counts, const std::vector<double>& weights) {
  const double degrees = static_cast<double>(counts.size()) - 1.0;
  const double spread = 2.0 / (9.0 * degrees);
  const double root = 1.0 - spread + 3.719 * std::sqrt(spread);
  EXPECT_LT(chi_square(counts, weights), degrees * root * root * root);
}

inline void expect_alike(const std::vector<int64_t>& counts) {
  expect_shares(counts, std::vector<double>(counts.size(), 1.0));
}

}  // namespace segue
