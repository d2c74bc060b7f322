// Tokens that a model learns as vectors, the same in every stream: memory tokens, and those of a global stream.
#pragma once

#include <string>

#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// The inputs of memory tokens where a segment writes them, unless it writes what it read.
inline constexpr const char* kWrittenTokens = "memory.written";

// Records the parameter `name` [K, D] for every stream, scaled as other tokens are: `shape` [B, K, D].
Value learned_tokens(Tape& tape, Parameters& parameters, const std::string& name, const Shape& shape);

}  // namespace segue
