// How many answers of marked data were right: of all, of each run of examples, by how far back what decides them
// stands.
//
// An answer is a scored token and those that go on with it (data_pipeline/token_mark.h). It is right when each of them
// was the most likely token, given the right ones before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/evaluation/loss_statistics.h"
#include "data_pipeline/token_source.h"

namespace segue {

// The share of right answers.
class AnswerMean {
 public:
  void add(int64_t region, int64_t example, bool is_right);
  int64_t answers() const { return right_.tokens(); }
  double mean() const { return right_.mean(); }
  const LossMean& by_region() const { return right_; }
  // The longer side of Wilson's interval (Brown, Cai and DasGupta 2001, Statistical Science 16, 101), which where all
  // or none are right is as wide as their number leaves it. Answers count as many as independent ones of the same
  // spread over regions would; where there is no spread, each example (of one text, each region) as one.
  double confidence95() const;

 private:
  LossMean right_ = LossMean::of_answers();
  int64_t examples_ = 0;
  int64_t last_example_ = -1;
};

struct AnswerStatistics {
  AnswerMean total = {};
  struct OfRun {
    ExampleRun run;
    AnswerMean answers;
  };
  std::vector<OfRun> by_run = {};  // none where the split is one text
  struct Bin {
    int64_t from = 0;  // tokens back from an answer to what decides it
    int64_t to = 0;
    AnswerMean answers;
  };
  std::vector<Bin> by_distance = {};  // each but the first twice as wide as the one before; of marks that say it

  // Examples of the lowest share of right answers, those with the most answers first and among these those whose first
  // wrong answer was furthest from right; none where all are right.
  struct Example {
    int64_t index = 0;  // in the split
    int64_t begin = 0;  // offset in the split of its first token
    int64_t answers = 0;
    int64_t right = 0;
    int64_t first_wrong = 0;  // offset in the split of the first answer that was not right
    int64_t distance = 0;     // its, 0: not said
    float margin = 0.0F;      // its, of the token that was furthest from right
  };
  static constexpr size_t kHardest = 5;
  std::vector<Example> hardest = {};

  // For every token of the split 1 where it begins a right answer, 0 a wrong one, NaN elsewhere.
  std::vector<float> right = {};
};

// `margins`: for every token of the split how far its logit was above the largest other's; NaN where it was not
// evaluated, and with it the answer that it is part of.
AnswerStatistics count_answers(TokenSource& source, std::span<const float> margins);

}  // namespace segue
