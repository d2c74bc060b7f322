// One split of a dataset as one array of tokens, read at any offset.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/shard_reader.h"
#include "data_pipeline/token_mark.h"

namespace segue {

// Not to be shared between threads; several sources of one split may be used at the same time.
class TokenSource {
 public:
  // `unknown_token`: what stands for text that the vocabulary does not have; -1: none.
  TokenSource(std::filesystem::path directory, SplitInfo split, TokenType type, int64_t vocabulary,
              int64_t unknown_token = -1);

  int64_t tokens() const { return split_.tokens; }
  int64_t vocabulary() const { return vocabulary_; }
  int64_t unknown_token() const { return unknown_token_; }  // -1: none
  std::string name() const;                                 // for messages: DIRECTORY: split "train"

  const SplitInfo& info() const { return split_; }

  // Tokens [offset, offset + out.size()), across shard boundaries. DataError naming shard and offset when a chunk is
  // damaged or a token is not below the vocabulary.
  void read(int64_t offset, std::span<int32_t> out);

  // Whether only some tokens are scored.
  bool has_marks() const { return marks_ != nullptr; }
  // Likewise the marks of these tokens, of a split that has any.
  void read_marks(int64_t offset, std::span<TokenMark> out);

  // Whether it is known how many bytes of text each token stands for.
  bool has_bytes() const { return token_bytes_ != nullptr || split_.bytes == split_.tokens; }
  // Likewise these bytes, where they are known.
  void read_bytes(int64_t offset, std::span<int32_t> out);

 private:
  struct OpenShard {
    size_t index;
    ShardReader reader;
  };
  std::unique_ptr<TokenSource> row_beside(const std::string& name, const std::optional<RowInfo>& row) const;
  ShardReader& opened(size_t index);
  std::filesystem::path path_of(size_t index) const { return directory_ / split_.shards[index].file; }

  std::filesystem::path directory_;
  SplitInfo split_;
  TokenType type_;
  int64_t vocabulary_;
  int64_t unknown_token_;
  std::vector<int64_t> begins_;               // offset in the split of each shard's first token
  std::deque<OpenShard> open_;                // oldest first
  std::unique_ptr<TokenSource> marks_;        // or null
  std::unique_ptr<TokenSource> token_bytes_;  // or null
  std::vector<int32_t> read_marks_;
};

}  // namespace segue
