// What Unicode says about characters, at the versions that the programs which made the tokenizers know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

bool is_white_space(char32_t character);     // the property White_Space
bool is_numeric(char32_t character);         // categories Nd, Nl, No
bool is_word_character(char32_t character);  // \w of Unicode's regular expressions

// As BERT's normalizer and pre-tokenizer ask: they know no characters of Unicode 9 and later.
bool is_punctuation(char32_t character);
bool is_nonspacing_mark(char32_t character);
bool is_control(char32_t character);  // Cc, Cf, Co

bool is_combining_mark(char32_t character);  // as StripAccents asks
void append_lower_case(char32_t character, std::string& text);

// A character of the same length, category and case for one that is newer than Unicode 14, the version of PCRE2 10.42,
// or that PCRE2 calls white space and Unicode does not; none for all others.
std::optional<char32_t> stand_in(char32_t character);

// `text` with such characters replaced: itself where there are none, otherwise a copy in `copy`.
std::string_view with_stand_ins(std::string_view text, std::string& copy);

enum class NormalForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };
AlignedText normalize(AlignedText text, NormalForm form);

// The end of the grapheme cluster that begins at `at`.
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace segue
