#include "data_pipeline/tokenizer/tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "base/error.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"
#include "data_pipeline/tokenizer/symbol_tokenizer.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"

namespace segue {

void Encoder::begin_file(const std::string& file, int64_t offset) {
  file_begin_ = bytes_ - offset;
  start_file(file, offset);
}

void Encoder::append(std::string_view text) {
  bytes_ += std::ssize(text);
  encode(text);
}

void Encoder::end_split() {
  finish_split();
  if (has_tokens_) add_token_bytes(bytes_);
  bytes_ = told_ = 0;
  has_tokens_ = false;
}

void Encoder::add_token_bytes(int64_t end) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // as tokens, they travel as int32
  if (end - told_ > kMost)
    throw DataError("expected tokens of at most {} bytes of text, found one of {}", kMost, end - told_);
  token_bytes_.push_back(static_cast<uint32_t>(std::max<int64_t>(end - told_, 0)));  // 0: made of what is another's
  told_ = std::max(told_, end);
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) decode_onto(token, text);
  return text;
}

void Tokenizer::decode_onto(int32_t token, std::string& text) const {
  if (token < 0 || token >= info_.vocabulary)
    throw ContractError("decode: token {}, expected 0 to {}", token, info_.vocabulary - 1);
  append_text(token, text);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const std::string& source, int64_t offset) const {
  return encode_with_bytes(text, source, offset).tokens;
}

EncodedText Tokenizer::encode_with_bytes(std::string_view text, const std::string& source, int64_t offset) const {
  const std::unique_ptr<Encoder> encoder = make_encoder();
  encoder->begin_file(source, offset);
  encoder->append(text);
  encoder->end_file();
  encoder->end_split();
  EncodedText encoded{.tokens = {encoder->tokens().begin(), encoder->tokens().end()},
                      .bytes = {encoder->token_bytes().begin(), encoder->token_bytes().end()}};
  if (encoded.bytes.empty()) encoded.bytes.assign(encoded.tokens.size(), 1);
  const bool line_goes_on = !text.empty() && text.back() != '\n';
  if (line_goes_on && !encoded.tokens.empty() && info_.line_mark_token >= 0 &&
      encoded.tokens.back() == info_.line_mark_token) {
    encoded.tokens.pop_back();
    encoded.bytes.pop_back();
  }
  return encoded;
}

std::unique_ptr<Tokenizer> load_tokenizer(const TokenizerInfo& info, const std::string& file_text,
                                          const std::string& source) {
  if (!file_of(info.kind).empty()) {
    const std::string found = checksum_of(std::as_bytes(std::span(file_text)));
    if (found != info.checksum) throw DataError("{}: expected checksum {}, found {}", source, info.checksum, found);
  }
  switch (info.kind) {
    case TokenizerKind::kByte:
      return make_byte_tokenizer();
    case TokenizerKind::kWord:
      return load_word_tokenizer(info, file_text, source);
    case TokenizerKind::kEnwik8:
    case TokenizerKind::kText8:
      return load_symbol_tokenizer(info);
    case TokenizerKind::kSentencePiece:
      return load_sentencepiece_tokenizer(info, file_text, source);
    case TokenizerKind::kHuggingFace:
      return load_huggingface_tokenizer(info, file_text, source);
    case TokenizerKind::kTiktoken:
      return load_tiktoken_tokenizer(info, file_text, source);
    case TokenizerKind::kReadyMade:
      break;
  }
  throw DataError("{}: ready-made tokens have no tokenizer", source);
}

}  // namespace segue
