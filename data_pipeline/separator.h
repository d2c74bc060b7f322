// What `segue prepare --separator` puts between two files or documents.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "data_pipeline/prepare.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// The bytes between two documents of text; absent where nothing is put there. Throws UsageError for a wrong escape.
std::optional<std::string> separator_of_text(const PrepareOptions& options);

// Throws UsageError for a separator that the sources cannot have: text between ready-made tokens, numbers that are no
// byte or no token, a word that would become one with the words around it. Needs a format that is not auto.
void check_separator(const PrepareOptions& options);

// Throws UsageError where the tokenizer makes no tokens or unknown ones of the separator, so that it would not be seen.
// Warns where it joins the separator to the text around it.
void check_separator_of(const PrepareOptions& options, const Tokenizer& tokenizer, Logger& logger);

}  // namespace segue
