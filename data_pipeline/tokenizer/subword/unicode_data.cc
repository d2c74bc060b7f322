// utf8proc, with what it does not know or knows otherwise.
#include "data_pipeline/tokenizer/subword/unicode_data.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "data_pipeline/tokenizer/subword/unicode_tables.h"

namespace segue {
namespace {

template <typename Range>
const Range* find_range(std::span<const Range> ranges, char32_t character) {
  const auto at = std::upper_bound(ranges.begin(), ranges.end(), character,
                                   [](char32_t c, const Range& range) { return c < range.first; });
  if (at == ranges.begin()) return nullptr;
  const Range& range = *std::prev(at);
  return character <= range.last ? &range : nullptr;
}

utf8proc_category_t category_of(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  if (category != UTF8PROC_CATEGORY_CN) return category;
  const CategoryRange* range = find_range(new_characters(), character);
  if (range == nullptr) return category;
  static constexpr std::array kCategories{
      UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LO, UTF8PROC_CATEGORY_MN,
      UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO, UTF8PROC_CATEGORY_PD, UTF8PROC_CATEGORY_PO,
      UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO, UTF8PROC_CATEGORY_CF};
  return kCategories.at(static_cast<size_t>(range->category));
}

bool is_in(char32_t character, std::span<const CharacterRange> ranges) {
  return find_range(ranges, character) != nullptr;
}

bool is_letter(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_mark(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

constexpr bool is_between(char32_t character, char32_t first, char32_t last) {
  return character >= first && character <= last;
}

// A character that never changes with the one before it.
bool begins_segment(char32_t character) {
  if (character < 0x300) return true;
  const bool joins_hangul = is_between(character, 0x1160, 0x11ff) || is_between(character, 0x3131, 0x318e) ||
                            is_between(character, 0xffa0, 0xffdc);  // also what compatibility makes such letters of
  const bool is_voiced_sound_mark = is_between(character, 0xff9e, 0xff9f);
  if (joins_hangul || is_voiced_sound_mark) return false;
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(character));
  return property->combining_class == 0 && !is_mark(static_cast<utf8proc_category_t>(property->category));
}

bool is_left_alone(char32_t character) { return character >= 0x300 && is_in(character, later_in_normalization()); }

// Decomposes a segment, puts its marks in order, and composes it.
class SegmentNormalizer {
 public:
  explicit SegmentNormalizer(NormalForm form) : composes_(form == NormalForm::kNfc || form == NormalForm::kNfkc) {
    if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options_ |= UTF8PROC_COMPAT;
  }

  // The result is valid until the next call.
  const std::vector<utf8proc_int32_t>& run(std::string_view segment) {
    characters_.clear();
    for (size_t at = 0; at < segment.size(); at += character_size(segment[at]))
      decompose(static_cast<utf8proc_int32_t>(decode_character(segment, at)));
    order_marks();
    if (!composes_) return characters_;
    const utf8proc_ssize_t size =
        utf8proc_normalize_utf32(characters_.data(), static_cast<utf8proc_ssize_t>(characters_.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    characters_.resize(static_cast<size_t>(size));
    return characters_;
  }

 private:
  void decompose(utf8proc_int32_t character) {
    std::array<utf8proc_int32_t, 32> made{};  // at most 18
    int boundary = 0;
    const utf8proc_ssize_t size = utf8proc_decompose_char(character, made.data(), made.size(),
                                                          static_cast<utf8proc_option_t>(options_), &boundary);
    if (size <= 0 || size > static_cast<utf8proc_ssize_t>(made.size())) {
      characters_.push_back(character);
    } else {
      characters_.insert(characters_.end(), made.begin(), made.begin() + size);
    }
  }

  static int order_of(utf8proc_int32_t character) { return utf8proc_get_property(character)->combining_class; }

  void order_marks() {
    const auto is_starter = [](utf8proc_int32_t c) { return order_of(c) == 0; };
    for (auto begin = characters_.begin(); begin != characters_.end();) {
      begin = std::find_if_not(begin, characters_.end(), is_starter);
      const auto end = std::find_if(begin, characters_.end(), is_starter);
      std::stable_sort(begin, end, [](auto a, auto b) { return order_of(a) < order_of(b); });
      begin = end;
    }
  }

  bool composes_;
  int options_ = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
  std::vector<utf8proc_int32_t> characters_;
};

size_t segment_end(std::string_view text, size_t begin) {
  size_t end = begin + character_size(text[begin]);
  if (is_left_alone(decode_character(text, begin))) return end;
  while (end < text.size()) {
    const char32_t next = decode_character(text, end);
    if (begins_segment(next) || is_left_alone(next)) break;
    end += character_size(text[end]);
  }
  return end;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

char32_t stand_in_of(Category category, bool is_long, char32_t character) {
  const bool is_han = is_between(character, 0x2ebf0, 0x2ee5d) || is_between(character, 0x31350, 0x323af);
  if (is_han) return 0x20000;
  struct Pair {
    char32_t three;  // bytes
    char32_t four;
  };
  static constexpr std::array<Pair, 13> kPairs{{{0xa640, 0x10400},
                                                {0xa641, 0x10428},
                                                {0xa60c, 0x16b40},
                                                {0xa000, 0x10000},
                                                {0xa66f, 0x10a01},
                                                {0xa823, 0x11002},
                                                {0xa620, 0x104a0},
                                                {0x2150, 0x10107},
                                                {0x2e3a, 0x10ead},
                                                {0xa60d, 0x10100},
                                                {0x2200, 0x1d6c1},
                                                {0xa490, 0x10137},
                                                {0x2060, 0x110bd}}};
  const Pair& pair = kPairs.at(static_cast<size_t>(category));
  return is_long ? pair.four : pair.three;
}

}  // namespace

char32_t decode_character(std::string_view text, size_t at) {
  const size_t size = character_size(text[at]);
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[at + i])); };
  if (size == 1) return byte(0);
  char32_t character = byte(0) & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) character = (character << 6) | (byte(i) & 0x3f);
  return character;
}

void append_character(char32_t character, std::string& text) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

bool is_white_space(char32_t character) {
  if (character < 0x80) return character == ' ' || is_between(character, 0x9, 0xd);
  return character == 0x85 || character == 0xa0 || character == 0x1680 || is_between(character, 0x2000, 0x200a) ||
         character == 0x2028 || character == 0x2029 || character == 0x202f || character == 0x205f ||
         character == 0x3000;
}

bool is_numeric(char32_t character) {
  if (character < 0x80) return is_between(character, '0', '9');
  if (is_between(character, 0x11de0, 0x11de9) || is_between(character, 0x16ff4, 0x16ff6)) return true;  // Unicode 17
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_word_character(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  const bool is_circled_letter = is_between(character, 0x24b6, 0x24e9) || is_between(character, 0x1f130, 0x1f149) ||
                                 is_between(character, 0x1f150, 0x1f169) || is_between(character, 0x1f170, 0x1f189);
  const bool is_joiner = is_between(character, 0x200c, 0x200d);
  return is_letter(category) || is_mark(category) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || is_circled_letter || is_joiner;
}

bool is_punctuation(char32_t character) {
  if (character < 0x80)
    return is_between(character, '!', '/') || is_between(character, ':', '@') || is_between(character, '[', '`') ||
           is_between(character, '{', '~');
  if (character == 0x166d || character == 0x111c9) return true;
  const utf8proc_category_t category = category_of(character);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO && !is_in(character, later_punctuation());
}

bool is_nonspacing_mark(char32_t character) {
  if (character < 0x300) return false;
  if (character == 0x1734 || character == 0x1171e) return true;
  return category_of(character) == UTF8PROC_CATEGORY_MN && !is_in(character, later_nonspacing_marks());
}

bool is_control(char32_t character) {
  const utf8proc_category_t category = category_of(character);
  if (category == UTF8PROC_CATEGORY_CF) return !is_in(character, later_format_characters());
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO;
}

bool is_combining_mark(char32_t character) {
  if (character < 0x300) return false;
  if (is_between(character, 0x1cf2, 0x1cf3)) return true;
  return is_mark(category_of(character)) && !is_in(character, later_marks());
}

void append_lower_case(char32_t character, std::string& text) {
  if (character == 0x130) {
    text += "i\xcc\x87";
    return;
  }
  if (const LowerRange* range = find_range(new_lower_case(), character)) {
    append_character(static_cast<char32_t>(static_cast<int32_t>(character) + range->distance), text);
  } else {
    append_character(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))), text);
  }
}

std::optional<char32_t> stand_in(char32_t character) {
  if (character == 0x180e) return 0x2060;
  if (character < 0x800) return std::nullopt;
  const CategoryRange* range = find_range(new_characters(), character);
  if (range == nullptr || character == 0x1171e) return std::nullopt;
  return stand_in_of(range->category, character >= 0x10000, character);
}

std::string_view with_stand_ins(std::string_view text, std::string& copy) {
  bool has_long = false;
  for (const char c : text) has_long |= static_cast<uint8_t>(c) >= 0xe0;
  if (!has_long) return text;
  bool is_copied = false;
  for (size_t at = 0; at < text.size(); at += character_size(text[at])) {
    if (static_cast<uint8_t>(text[at]) < 0xe0) continue;
    const std::optional<char32_t> other = stand_in(decode_character(text, at));
    if (!other) continue;
    if (!is_copied) copy = text;
    is_copied = true;
    std::string bytes;
    append_character(*other, bytes);
    copy.replace(at, bytes.size(), bytes);
  }
  return is_copied ? std::string_view(copy) : text;
}

AlignedText normalize(AlignedText text, NormalForm form) {
  const std::string& bytes = text.bytes();
  if (is_ascii(bytes)) return text;
  AlignedTextBuilder builder(bytes.size());
  SegmentNormalizer normalizer(form);
  std::string made;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = segment_end(bytes, at);
    const std::string_view segment = std::string_view(bytes).substr(at, end - at);
    const bool stays = (segment.size() == 1) || is_left_alone(decode_character(segment, 0));
    made.clear();
    if (!stays)
      for (const utf8proc_int32_t c : normalizer.run(segment)) append_character(static_cast<char32_t>(c), made);
    if (stays || made == segment) {
      builder.append(text, at, end);
    } else {
      builder.append_made(made, text.source(at), text.source(end));
    }
    at = end;
  }
  return builder.finish(text.source(bytes.size()));
}

size_t grapheme_end(std::string_view text, size_t at) {
  utf8proc_int32_t state = 0;
  const auto known = [&](size_t position) {
    const char32_t character = decode_character(text, position);
    return static_cast<utf8proc_int32_t>(stand_in(character).value_or(character));
  };
  while (true) {
    const utf8proc_int32_t here = known(at);
    at += character_size(text[at]);
    if (at >= text.size()) return text.size();
    const utf8proc_int32_t next = known(at);
    if (utf8proc_grapheme_break_stateful(here, next, &state)) return at;
  }
}

}  // namespace segue
