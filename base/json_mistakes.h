// What people write that is not quite JSON: comments, trailing commas, the words and quotes of other languages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace segue {

// What is wrong at `stopped_at`, the last byte of `text` that the parser read, in words that say what to write instead;
// "" where it is no mistake that is known. `reason` is the parser's.
std::string json_mistake(std::string_view text, size_t stopped_at, std::string_view reason);

}  // namespace segue
