// A source of `prepare`: what it looks like, how it is wrapped, and how much text or how many tokens are in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/encoding_warnings.h"
#include "data_pipeline/json_lines.h"
#include "data_pipeline/prepare.h"
#include "data_pipeline/token_files/token_layout.h"

namespace segue {

struct SourceFile {
  std::filesystem::path path;     // as it was given
  std::filesystem::path content;  // where it lies: another path for standard input, which can be read only once
  int64_t file_bytes = 0;
  int64_t bytes = 0;  // of the text or the tokens, as open_source gives them
  Compression compression = Compression::kNone;
  int64_t skipped = 0;  // bytes before the text: a byte order mark
  TextLook look = TextLook::kPlain;
  std::string field = {};
  std::optional<int64_t> separator = {};           // between the documents of one file, of tokens
  std::optional<std::string> text_separator = {};  // the same of text
  JsonLineCounts json_lines = {};                  // of a file with a field
  std::optional<TokenLayout> tokens = {};          // absent: text
  bool is_ids = false;                             // tokens, as a list in the field of each line of JSON
  bool has_texts = false;                          // in the field of each line of JSON, each to become tokens by itself
  TokenType token_type = TokenType::kUInt16;       // of the tokens, as open_source gives them
  std::string checksum = {};                       // of the file, where what is read is not just its bytes

  bool is_text() const { return !tokens && !is_ids; }
};

// What a manifest says of a file beside those of text or tokens.
SourceInfo source_beside(const std::filesystem::path& path, std::vector<std::string> splits);

// Reads what is wrapped once, to know its size; copies standard input into `directory`. With the format auto, finds out
// whether it is text or tokens. Throws DataError for a source that is missing, no regular file, empty, damaged, cut off
// inside a token, or looks like what it should not be. Tokens have no size before settle_tokens.
SourceFile inspect_source(const std::filesystem::path& path, const PrepareOptions& options,
                          const std::filesystem::path& directory);

// The narrowest of uint16 and uint32 that holds whatever is in a source of tokens.
TokenType type_of_tokens(const SourceFile& file);

// Says as what its tokens shall be given, and what stands between its documents.
void settle_tokens(SourceFile& file, TokenType type, std::optional<int64_t> separator);

// The text or the tokens in it. Tokens that are not below `limit` are refused here, or are left to the caller.
std::unique_ptr<ByteStream> open_source(const SourceFile& file, int64_t limit = kLargestVocabulary,
                                        DocumentListener listener = {});

}  // namespace segue
