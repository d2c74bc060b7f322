// Finds where the documents of a split begin: after each place where the boundary's tokens stand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/dataset.h"

namespace segue {

// What a tokenizer makes of a text that is a file of its own, which messages call `name`.
struct TokensAlone {
  std::vector<int32_t> tokens;
  int64_t unknown = 0;  // of them
};
TokensAlone tokens_alone(const Tokenizer& tokenizer, const std::string& text, const std::string& name);

// The end of an error about a line feed of which the tokenizer makes no token: why, or nothing.
std::string_view without_line_feeds(const TokenizerInfo& info);

// The tokens of a boundary: of a text, what the dataset's tokenizer makes of it as a file of its own, with its escapes
// read (base/text.h); of ready-made tokens, their numbers, "50256" or "13,10". Throws DataError when it has none, or
// the vocabulary does not hold it.
std::vector<int32_t> boundary_tokens(const Dataset& dataset, const std::string& boundary);

// Finds boundaries among tokens that come one by one. They do not overlap.
class BoundarySearch {
 public:
  explicit BoundarySearch(std::vector<int32_t> boundary);

  // Whether a boundary ends with the next token. `matched`, 0 before the first, goes from one to the next.
  bool ends_at(int32_t token, size_t& matched) const;
  // Whether where boundaries end does not tell from the tokens of the last one alone.
  bool overlaps_itself() const { return fallbacks_.back() > 0; }
  int64_t tokens() const { return std::ssize(boundary_); }

 private:
  std::vector<int32_t> boundary_;
  std::vector<size_t> fallbacks_;
};

// The first token of every document, ascending from 0. A boundary belongs to the document that it ends; boundaries do
// not overlap. Of a split without one, or with one at its end alone, that is one document.
std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> boundary);

struct DocumentCount {
  int64_t documents = 1;
  bool is_whole = true;  // the split was read to its end
};
// Reads at most kMostCounted tokens.
constexpr int64_t kMostCounted = int64_t{1} << 28;
DocumentCount count_documents(TokenSource source, std::span<const int32_t> boundary);

// "1,204 documents", or "more than 1,204 documents" of a split that was not read to its end.
std::string describe(const DocumentCount& count);

// Throws DataError, which says what stands there instead, when a boundary is nowhere in a split.
void check_boundary(const Dataset& dataset, const std::string& split, const std::string& boundary);

}  // namespace segue
