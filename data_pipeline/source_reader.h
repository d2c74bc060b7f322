// Reads one source file of `prepare`, block by block; while the caller works on one, a thread reads the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/checksum.h"
#include "data_pipeline/encoding_warnings.h"
#include "data_pipeline/source_file.h"
#include "data_pipeline/token_type.h"

namespace segue {

class SourceReader {
 public:
  SourceReader(const SourceReader&) = delete;
  SourceReader& operator=(const SourceReader&) = delete;
  // Tokens must be below `vocabulary`. `signs`, which outlive this, count what is read of a text, where they are given.
  SourceReader(const SourceFile& file, TokenType type, int64_t vocabulary, EncodingWarnings* signs = nullptr);

  // The next tokens, valid until the next call; empty at the end. DataError naming the file and the offset when a token
  // is outside the vocabulary, or when the file is no longer as long as planned.
  std::span<const std::byte> next();

  // Behind how many bytes of those a text of lines of JSON ends, where each is to become tokens by itself.
  std::span<const size_t> document_ends() const { return document_ends_; }
  // Of the whole file, once it is read to its end.
  int64_t largest_token() const { return largest_; }
  std::string checksum() const { return file_.checksum.empty() ? checksum_.text() : file_.checksum; }

 private:
  struct Block {
    std::span<const std::byte> tokens;
    std::vector<size_t> document_ends;
  };
  Block read();
  bool has_another_block() const { return done_ < file_.bytes; }
  void check_tokens(std::span<const std::byte> tokens);

  SourceFile file_;
  TokenType type_;
  int64_t vocabulary_;
  EncodingWarnings* signs_;  // of blocks; null where documents are counted as they are read
  std::unique_ptr<ByteStream> stream_;
  std::array<Buffer, 2> blocks_;  // the caller's, and the one that is read meanwhile
  size_t next_block_ = 0;
  int64_t done_ = 0;  // bytes
  int64_t largest_ = 0;
  std::vector<size_t> ends_read_;      // of the block that is being read
  std::vector<size_t> document_ends_;  // of the caller's
  Checksum checksum_;
  std::future<Block> ahead_;  // last: it ends before the rest goes
};

}  // namespace segue
