// The tokens of a file that is more than raw tokens: checked, in another type, with a separator between documents.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/token_files/element_type.h"
#include "data_pipeline/token_type.h"

namespace segue {

// The number of tokens of the next document, which has at least one; 0 behind the last.
using NextDocument = std::function<int64_t()>;

struct TokenStreamOptions {
  std::string name;                       // of the file, for messages
  ElementType element{};                  // in the file
  TokenType type{};                       // of the stream: uint16 or uint32
  int64_t limit = kLargestVocabulary;     // tokens are from 0 to below it
  std::optional<int64_t> separator = {};  // between two documents; absent: nothing
  NextDocument next_document = {};        // null: the file is one document
  int64_t row_tokens = 0;                 // of an array with rows, for messages; 0: the file has none
};

// `elements` gives the file's elements, little-endian, without a header. Reading throws DataError that names file,
// place and value of a token outside the limits. Elements that are missing at the end are for the caller to notice.
std::unique_ptr<ByteStream> make_token_stream(std::unique_ptr<ByteStream> elements, const TokenStreamOptions& options);

// Throws that DataError; `value` is as people write it.
[[noreturn]] void refuse_token(const std::string& name, const std::string& place, const std::string& value,
                               int64_t limit);

}  // namespace segue
