// Tokenizers that Hugging Face's library has written: tokenizer.json.
//
// BPE, Unigram and WordPiece, with the steps before them; text becomes what encode() of tokenizers makes of it without
// special tokens. What a post-processor would put around a text is not put there.
#pragma once

#include <memory>
#include <string>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// `source` names the file in messages. With `finds_special` special tokens that are spelled in text are these tokens,
// otherwise they are text. Throws DataError naming file and path for what is damaged or not read.
std::unique_ptr<Tokenizer> read_huggingface_tokenizer(const std::string& file, const std::string& source,
                                                      bool finds_special);

std::unique_ptr<Tokenizer> load_huggingface_tokenizer(const TokenizerInfo& info, const std::string& file,
                                                      const std::string& source);

}  // namespace segue
