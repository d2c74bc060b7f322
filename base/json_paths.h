// Suggests which key of a described struct was meant by an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "base/key_synonyms.h"

namespace segue {

// The paths of all keys, those of a list with `[]`: "shards[].file".
std::vector<std::string> key_paths(const Describe& prototype);

// "; did you mean model.mem_len?" for the key most likely meant by `unknown_path` ("model.mem_length"); "" when there
// is none: the same in other letters, else what other programs call so, else the same key elsewhere, else a similar key
// in the same object, else the only one there that begins so, else a similar one anywhere. Where the unknown key holds
// an object of one key, and so on, `innermost_path` leads to the last of these
// ("memory.mem_len" of the unknown "memory"): it is looked up where the unknown key has no counterpart with it.
std::string hint_at_key(const std::string& unknown_path, const std::string& innermost_path, const Describe& prototype);

// The one key that a word without its path names for certain: by its own name, or by that of other programs.
std::optional<MeantKey> key_named(std::string_view word, const Describe& prototype);

// What a key or flag of earlier versions is called today ("batch_size" for "batch"); "" for any other.
std::string_view renamed_key(std::string_view old);

// The path of the key that `unknown_path` was in earlier versions; "" when there was none.
std::string renamed_key_path(std::string unknown_path, const Describe& prototype);

}  // namespace segue
