// Byte pair encoding by a file of ranks, as tiktoken has it: lines of a token in base64 and its number.
//
// The file says neither by which pattern text is cut before nor what special tokens there are: an encoding does, whose
// name is asked for or is the file's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// The names of the encodings that are known.
std::span<const std::string_view> tiktoken_encodings();
// The encoding that a file is named after, such as cl100k_base.tiktoken; nothing for other names.
std::optional<std::string> encoding_of_file_name(std::string_view name);

// The number of bytes of every token below the largest; 0 for those that the file leaves out.
std::vector<uint32_t> read_rank_lengths(const std::string& file, const std::string& source);

// `source` names the file in messages. Throws DataError naming file and line for what is damaged.
std::unique_ptr<Tokenizer> read_tiktoken_tokenizer(const std::string& file, const std::string& source,
                                                   const std::string& encoding, bool finds_special);

std::unique_ptr<Tokenizer> load_tiktoken_tokenizer(const TokenizerInfo& info, const std::string& file,
                                                   const std::string& source);

}  // namespace segue
