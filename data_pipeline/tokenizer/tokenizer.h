// From text to tokens and back. One file per kind; what is stored of a tokenizer is its TokenizerInfo and one file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/tokenizer_info.h"

namespace segue {

// Takes in text in pieces that are cut anywhere.
class TextSink {
 public:
  virtual ~TextSink() = default;
  // The text that follows lies in `file` from byte `offset` on; messages name both.
  virtual void begin_file(const std::string& file, int64_t offset) = 0;
  virtual void append(std::string_view text) = 0;
  // What follows in the file is another text, for those to whom it makes a difference.
  virtual void end_document() {}
  // The file ends, or the part of it that belongs to the split.
  virtual void end_file() = 0;
  virtual void end_split() {}
};

// The tokens of one split, as its text comes in.
class Encoder : public TextSink {
 public:
  void begin_file(const std::string& file, int64_t offset) final;
  void append(std::string_view text) final;
  void end_document() final { finish_document(); }
  void end_file() final { finish_file(); }
  void end_split() final;

  // Those completed since the caller last cleared them.
  std::vector<uint32_t>& tokens() { return tokens_; }
  // The bytes of text that tokens stand for, of those of which it has become known since the caller last cleared them:
  // a token's text ends where that of the next begins, and the last one's with the split. The first has what comes
  // before it, too, so that all bytes of the split belong to one token each. None of bytes as tokens.
  std::vector<uint32_t>& token_bytes() { return token_bytes_; }
  int64_t unknown() const { return unknown_; }  // of all tokens so far, those that stand for what is not known
  // A note for people about how the text was read, or empty.
  virtual std::string note() const { return {}; }

 protected:
  // The text of the token begins at byte `begin` of the file, where that of the token before it ends.
  void put(int64_t token, int64_t begin) {
    tokens_.push_back(static_cast<uint32_t>(token));
    begin += file_begin_;
    if (has_tokens_) add_token_bytes(begin);
    has_tokens_ = true;
  }
  void put_unknown(int64_t token, int64_t begin) {
    put(token, begin);
    ++unknown_;
  }

 private:
  virtual void start_file(const std::string& file, int64_t offset) = 0;
  virtual void encode(std::string_view text) = 0;
  virtual void finish_document() {}
  virtual void finish_file() = 0;
  virtual void finish_split() {}
  void add_token_bytes(int64_t end);  // of the last token, up to there

  std::vector<uint32_t> tokens_;
  std::vector<uint32_t> token_bytes_;
  int64_t unknown_ = 0;
  int64_t bytes_ = 0;       // of the split so far
  int64_t file_begin_ = 0;  // where the file's byte 0 would lie in the split
  int64_t told_ = 0;        // bytes of the split that token_bytes_ has had
  bool has_tokens_ = false;
};

struct EncodedText {
  std::vector<int32_t> tokens;
  std::vector<int32_t> bytes;  // of each
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  const TokenizerInfo& info() const { return info_; }
  // The content of the file of file_of(kind); empty for kinds that need none.
  virtual std::string file_text() const { return {}; }
  // DataError naming file and byte where text cannot be encoded. The tokenizer outlives its encoders.
  virtual std::unique_ptr<Encoder> make_encoder() const = 0;
  // The tokens of a text that continues: its last line is marked as ended only where it does end. DataError naming
  // `source` and byte where it cannot be encoded; the text begins at byte `offset` there.
  std::vector<int32_t> encode(std::string_view text, const std::string& source, int64_t offset = 0) const;
  // The same, and the bytes of text that each token stands for.
  EncodedText encode_with_bytes(std::string_view text, const std::string& source, int64_t offset = 0) const;
  // The text of tokens below the vocabulary size; ContractError for others.
  std::string decode(std::span<const int32_t> tokens) const;
  // Adds a token's text to that of the tokens before it.
  void decode_onto(int32_t token, std::string& text) const;

 protected:
  TokenizerInfo info_;

 private:
  virtual void append_text(int32_t token, std::string& text) const = 0;
};

// Makes a tokenizer of the text of the splits it learns from.
class TokenizerLearner : public TextSink {
 public:
  virtual bool learns_from(std::string_view split) const = 0;
  virtual std::unique_ptr<Tokenizer> finish() = 0;
};

// Loads a stored tokenizer; `source` names the file in messages. Throws DataError when the file is not what `info`
// says, and for kReadyMade, which has no tokenizer; UsageError for kSentencePiece in a program built without it.
std::unique_ptr<Tokenizer> load_tokenizer(const TokenizerInfo& info, const std::string& file_text,
                                          const std::string& source);

}  // namespace segue
