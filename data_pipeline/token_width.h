// Judges the width of ready-made tokens from a file's first bytes, because a file does not say how wide its tokens are.
#pragma once

#include <string>
#include <string_view>

#include "data_pipeline/token_type.h"

namespace segue {

// "tokens of uint32: give --format uint32", where the bytes, read as tokens of `type`, have the pattern of another
// width or byte order, or of text; empty where they have none. `type` is uint16 or uint32. Patterns that leave no doubt
// are seen in a few tokens, others in 32.
std::string other_tokens_than(TokenType type, std::string_view beginning);

// "raw tokens of uint16, ...: give --format uint16" of a file without a header; empty for what has no such pattern.
std::string raw_tokens_of(std::string_view beginning);

}  // namespace segue
