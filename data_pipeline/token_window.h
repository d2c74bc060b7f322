// A stretch of one stream held in memory, so that segments are served without asking the shards for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data_pipeline/token_source.h"

namespace segue {

// Tokens that follow one another, each with its mark where the split has any, and its bytes where they are known.
struct TokenRows {
  std::span<const int32_t> tokens;
  std::span<const TokenMark> marks = {};  // empty: every token is scored
  std::span<const int32_t> bytes = {};    // of text that each stands for; empty: not known
  int32_t target(size_t i) const { return marks.empty() || marks[i].is_scored() ? tokens[i] : kUnscoredTarget; }
};

class TokenWindow {
 public:
  // Over tokens [begin, end) of a split; holds at most `capacity` of them.
  TokenWindow(int64_t begin, int64_t end, int64_t capacity);

  // Tokens [row, row + count) of the stream, count <= capacity; valid until the next call.
  TokenRows read(TokenSource& source, int64_t row, int64_t count);

 private:
  int64_t begin_;
  int64_t rows_;
  int64_t held_row_ = 0;  // first row in memory
  int64_t held_ = 0;      // number of rows in memory
  std::vector<int32_t> tokens_;
  std::vector<TokenMark> marks_;
  std::vector<int32_t> bytes_;
};

}  // namespace segue
