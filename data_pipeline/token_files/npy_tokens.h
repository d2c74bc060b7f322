// Tokens in NumPy's arrays: one row of them, or rows that are documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data_pipeline/token_files/element_type.h"

namespace segue {

struct NpyTokens {
  ElementType element{};
  int64_t tokens = 0;
  int64_t row_tokens = 0;    // of an array of rows; 0: it has none
  int64_t header_bytes = 0;  // the tokens follow

  int64_t bytes() const { return tokens * bytes_of(element); }
};

bool is_npy(std::string_view beginning);

// Reads the header. Throws DataError beginning with `where` for what is no array of whole, little-endian numbers in C
// order, of one or two dimensions, and says how to write one.
NpyTokens read_npy_tokens(std::string_view beginning, const std::string& where);

}  // namespace segue
