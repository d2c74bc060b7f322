// The width of ready-made tokens, judged by a file's first bytes: a file does not say how wide its tokens are.
#pragma once

#include <string>
#include <string_view>

#include "data_pipeline/token_type.h"

namespace segue {

// "tokens of uint32: give --format uint32", where the bytes, read as tokens of `type`, have the pattern of another
// width or byte order, or of text; empty where they have none. It takes 32 tokens at least. `type` is uint16 or uint32.
std::string other_tokens_than(TokenType type, std::string_view beginning);

}  // namespace segue
