// The header of llm.c's token files: 256 integers of 32 bits, then the tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data_pipeline/token_files/element_type.h"

namespace segue {

constexpr int64_t kLlmcHeaderBytes = 1024;

struct LlmcHeader {
  ElementType element{};
  int64_t tokens = 0;
};

// Whether a file begins with the number of llm.c's token files, of GPT-2 or of Llama 3.
bool is_llmc_token_file(std::string_view beginning);

// Throws DataError beginning with `name` for a header that is cut off, of another version, or counts below 0.
LlmcHeader read_llmc_header(std::string_view beginning, const std::string& name);

}  // namespace segue
