// Reads the tokens and targets of an evaluation plan, one batch of segments at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/evaluation/evaluation_plan.h"
#include "data_pipeline/masked_tokens.h"
#include "data_pipeline/token_window.h"

namespace segue {

class EvaluationBatchReader {
 public:
  // Serves at most `lanes` lanes and segments of `tgt_len` rows; with `masking`, as a masked model reads them
  // (data_pipeline/segment_streams.h), and with so many rows of a global stream before the tokens of a segment.
  EvaluationBatchReader(TokenSource source, int64_t lanes, int64_t tgt_len, std::optional<Masking> masking = {},
                        int64_t global_tokens = 0);

  // Turns to these lanes of a group.
  void enter(std::span<const Lane> lanes);

  // Rows [row, row + length) of every lane, counted from its beginning, as tokens [lanes, length], and the targets
  // [lanes, scored] of the newest of them, -1 (kUnscoredTarget) of those that are not scored; token 0 where a lane has
  // no such rows; [lanes, scored] bytes of text of these targets, where they are known. For a masked model, of each row
  // how many of its lane are after it, [lanes, global tokens + length]. Valid until the next call.
  struct Rows {
    ConstTensorView tokens;
    ConstTensorView targets;
    ConstTensorView bytes;
    ConstTensorView ahead;
  };
  Rows read(int64_t row, int64_t length, int64_t scored);

 private:
  TokenSource source_;
  std::optional<Masking> masking_;
  int64_t global_tokens_;
  std::vector<Lane> lanes_;
  std::vector<TokenWindow> windows_;
  OwnedTensor tokens_;
  OwnedTensor targets_;
  OwnedTensor bytes_;
  OwnedTensor ahead_;
};

}  // namespace segue
