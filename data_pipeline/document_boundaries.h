// Where the documents of a split begin: behind each place where the tokens of a boundary stand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/dataset.h"

namespace segue {

// The tokens of a boundary: of a text, what the dataset's tokenizer makes of it as a file of its own; of ready-made
// tokens, their numbers, "50256" or "13,10". Throws DataError when it has none, or the vocabulary does not hold it.
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
// not overlap. Throws DataError when there is none in the split.
std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> boundary);

// Throws likewise, without reading on behind the first boundary.
void check_documents(TokenSource source, std::span<const int32_t> boundary);

}  // namespace segue
