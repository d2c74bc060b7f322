// What all kinds of tokenizers share, and the choice between them.
#include "data_pipeline/tokenizer/tokenizer.h"

#include "base/checksum.h"
#include "base/error.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "data_pipeline/tokenizer/symbol_tokenizer.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"

namespace segue {

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    if (token < 0 || token >= info_.vocabulary)
      throw ContractError("decode: token {}, expected 0 to {}", token, info_.vocabulary - 1);
    append_text(token, text);
  }
  return text;
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
    case TokenizerKind::kReadyMade:
      break;
  }
  throw DataError("{}: ready-made tokens have no tokenizer", source);
}

}  // namespace segue
