// What tests of relative attention hold its results against, and the cases that go through all of its terms.
#pragma once

#include <string>
#include <vector>

#include "tests/kernels/relative_attention_problem.h"

namespace segue::kernels {

inline bool on_cpu() { return !test_device().is_cuda(); }

inline int64_t widest_head() { return on_cpu() ? 256 : 128; }

inline Tolerance tolerance_of(const std::string& result) {
  return result == "output" || result == "lse" ? kReduction : kGradient;
}

inline void expect_oracle(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  const AttentionResults expected = oracle_results(problem);
  for (const auto& [name, view] : found.results()) {
    if (view.empty()) continue;
    // With one key in sight, or one position for all, the softmax passes no gradient on: what is left is the rounding
    // of terms of the size of dqkv.
    const bool cancels = largest(expected.at(name)) <= kDoubleRounding.relative;
    const double terms = cancels ? largest(expected.at("dqkv")) : kSmallestScale;
    expect_close(name, view, expected.at(name), tolerance_of(name), terms);
  }
}

inline void expect_same(const AttentionSolution& a, const AttentionSolution& b) {
  for (size_t i = 0; i < a.results().size(); ++i)
    expect_identical(a.results()[i].first, a.results()[i].second, b.results()[i].second);
}

// With distance terms, with none, with biases and with gains: those without a band, and with what is summed by
// distance.
inline std::vector<AttentionCase> of_all_terms(const AttentionCase& c) {
  AttentionCase plain = c, biased = c;
  plain.has_distances = biased.has_distances = false;
  biased.e = c.keys();
  return {c, plain, biased, with_gains(plain, c.keys())};
}

inline TestTensor output_of(const AttentionProblem& x) {
  Queue queue(test_device(), 2);
  AttentionSolution y(x.extents);
  relative_attention_forward(queue, forward_args(x, y));
  return std::move(y.output);
}

// Which queries see a change of key `key`, found by changing it.
inline std::vector<bool> queries_touched(const AttentionCase& c, int64_t key) {
  AttentionProblem problem(c);
  const TestTensor before = output_of(problem);
  float* row =
      key < c.m ? problem.memory_kv.as<float>() + key * 2 * c.h : problem.qkv.as<float>() + ((key - c.m) * 3 + 1) * c.h;
  for (int64_t h = 0; h < c.h; ++h) row[h] += 3.0F;
  const TestTensor after = output_of(problem);
  std::vector<bool> touched;
  for (int64_t i = 0; i < c.t; ++i) {
    const float* old_row = before.as<float>() + i * c.h;
    touched.push_back(!std::equal(old_row, old_row + c.h, after.as<float>() + i * c.h));
  }
  return touched;
}

}  // namespace segue::kernels
