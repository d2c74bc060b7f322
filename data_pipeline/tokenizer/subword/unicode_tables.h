// The differences between the Unicode versions of programs that make tokenizers and of libraries that Segue is built
// with.
#pragma once

#include <cstdint>
#include <span>

namespace segue {

enum class Category : uint8_t { kLu, kLl, kLm, kLo, kMn, kMc, kNd, kNo, kPd, kPo, kSm, kSo, kCf };

struct CharacterRange {
  char32_t first;
  char32_t last;
};
struct CategoryRange {
  char32_t first;
  char32_t last;
  Category category;
};
struct LowerRange {
  char32_t first;
  char32_t last;
  int32_t distance;  // from each character to its lower case
};

// Characters of Unicode 15 to 16, and one whose category changed, by code point.
std::span<const CategoryRange> new_characters();

// What the Rust crates of Hugging Face's tokenizers 0.23 do not know yet: nonspacing marks and punctuation of BERT's
// classes, marks of StripAccents, format characters, and characters that decompose, compose or change their order.
std::span<const CharacterRange> later_nonspacing_marks();
std::span<const CharacterRange> later_marks();
std::span<const CharacterRange> later_punctuation();
std::span<const CharacterRange> later_format_characters();
std::span<const CharacterRange> later_in_normalization();
// What they know of lower case in Unicode 16 and 17.
std::span<const LowerRange> new_lower_case();

}  // namespace segue
