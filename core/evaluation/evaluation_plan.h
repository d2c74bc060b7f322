// Which tokens of a split an evaluation reads, and which it scores.
//
// Row r of a split reads token r and scores how well token r + 1 was predicted: a split of N tokens has N - 1 rows. A
// lane is a stretch of rows, read from empty memory segment by segment of T rows. Lanes advance in lockstep, B at a
// time: such a group is what one memory holds. The rows of a shorter lane that a longer one has beyond its end are
// padding.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data_pipeline/dataset_manifest.h"

namespace segue {

// Rows [begin, end) are read, and of them [scored, end) are scored.
struct Lane {
  int64_t begin = 0;
  int64_t scored = 0;
  int64_t end = 0;
  int64_t rows() const { return end - begin; }
  bool operator==(const Lane&) const = default;
};

class EvaluationPlan {
 public:
  using LaneAt = std::function<Lane(int64_t index)>;
  struct Extents {
    int64_t lanes = 1;    // of a group: B
    int64_t tgt_len = 1;  // T
    int64_t count = 0;    // of lanes in all groups
    int64_t rows = 0;     // of the split
    int64_t scored_rows = 0;
  };
  EvaluationPlan(const Extents& extents, LaneAt lane);

  int64_t lanes() const { return extents_.lanes; }
  int64_t tgt_len() const { return extents_.tgt_len; }
  int64_t groups() const { return (extents_.count + extents_.lanes - 1) / extents_.lanes; }
  int64_t rows() const { return extents_.rows; }  // that lanes lie in
  int64_t scored_rows() const { return extents_.scored_rows; }
  std::vector<Lane> group(int64_t index) const;  // B lanes; those there are not are empty
  int64_t longest_lane() const;                  // rows of it, in the first group

 private:
  Extents extents_;
  LaneAt lane_;
};

// As the published codes do it: B blocks of floor(N/B) tokens, a remainder dropped, every block from empty memory and
// its first token not scored. With `max_tokens`, whole segments until so many are scored; 0: all.
EvaluationPlan plan_blocks(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t max_tokens);

// Scores every row once. Every lane but the first reads the `warm_up` rows before its own as well; segments begin at
// multiples of T in the split, whatever B, so the warm-up is rounded up to whole ones. When it is what the model's
// losses depend on (warm_up_in_tokens), they do not depend on B. With `max_tokens`, of the first rows only; 0: all.
EvaluationPlan plan_streams(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t warm_up, int64_t max_tokens);

// Recomputation, as memoryless models are evaluated: windows of T rows, each `stride` rows after the last, which score
// their newest `stride` rows; those at the beginning have as many rows as there are. With `max_tokens`, of the first
// rows only; 0: all.
EvaluationPlan plan_windows(int64_t tokens, int64_t lanes, int64_t tgt_len, int64_t stride, int64_t max_tokens);

// Every document by itself, from empty memory; the token before its first, which ends the document boundary, is read
// but not scored with it. Documents advance side by side with others of about their length. `begins`: the first token
// of each, ascending from 0. With `max_tokens`, of the first rows only; 0: all.
EvaluationPlan plan_documents(int64_t tokens, std::span<const int64_t> begins, int64_t lanes, int64_t tgt_len,
                              int64_t max_tokens);

// The examples of a split, every one from empty memory. With `max_tokens`, an equal share of every run of them, so that
// about so many rows are scored; 0: all.
EvaluationPlan plan_examples(const std::vector<ExampleRun>& runs, int64_t lanes, int64_t tgt_len, int64_t max_tokens);

}  // namespace segue
