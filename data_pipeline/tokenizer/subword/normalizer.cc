// Each normalizer, with the place in the source of all that it keeps.
#include "data_pipeline/tokenizer/subword/normalizer.h"

#include <utility>

namespace segue {
namespace {

// Calls visit(character, begin, end) for each character.
template <typename Visit>
void for_each_character(const AlignedText& text, const Visit& visit) {
  const std::string& bytes = text.bytes();
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = at + character_size(bytes[at]);
    visit(decode_character(bytes, at), at, end);
    at = end;
  }
}

// Makes of every character a text, which `change` appends to a string.
template <typename Change>
AlignedText change_characters(const AlignedText& text, const Change& change) {
  AlignedTextBuilder builder(text.size());
  std::string made;
  for_each_character(text, [&](char32_t character, size_t begin, size_t end) {
    made.clear();
    change(character, text.view(begin, end), made);
    builder.append_made(made, text.source(begin), text.source(end));
  });
  return builder.finish(text.source(text.size()));
}

template <typename Keep>
AlignedText keep_characters(const AlignedText& text, const Keep& keep) {
  AlignedTextBuilder builder(text.size());
  for_each_character(text, [&](char32_t character, size_t begin, size_t end) {
    if (keep(character)) builder.append(text, begin, end);
  });
  return builder.finish(text.source(text.size()));
}

AlignedText lower(const AlignedText& text) {
  return change_characters(
      text, [](char32_t character, std::string_view, std::string& made) { append_lower_case(character, made); });
}

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    return normalize(std::move(text), form_);
  }

 private:
  NormalForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override { return lower(text); }
};

class StripAccentsNormalizer : public Normalizer {
 public:
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    return keep_characters(text, [](char32_t character) { return !is_combining_mark(character); });
  }
};

bool is_chinese(char32_t c) {
  const auto between = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return between(0x4e00, 0x9fff) || between(0x3400, 0x4dbf) || between(0x20000, 0x2a6df) || between(0x2a700, 0x2b81f) ||
         between(0x2b920, 0x2ceaf) || between(0xf900, 0xfaff) || between(0x2f800, 0x2fa1f);
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options) : options_(options) {}

  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    if (options_.clean_text) text = clean(text);
    if (options_.handle_chinese_chars) text = set_apart(text);
    if (options_.strip_accents)
      text = keep_characters(normalize(std::move(text), NormalForm::kNfd),
                             [](char32_t character) { return !is_nonspacing_mark(character); });
    return options_.lowercase ? lower(text) : text;
  }

 private:
  static AlignedText clean(const AlignedText& text) {
    return change_characters(text, [](char32_t character, std::string_view bytes, std::string& made) {
      if (is_white_space(character) && character != 0xb && character != 0xc && character != 0x85) {
        made += ' ';
      } else if (character != 0 && character != 0xfffd && !is_control(character)) {
        made += bytes;
      }
    });
  }
  // The space before stands for no byte of the source.
  static AlignedText set_apart(const AlignedText& text) {
    AlignedTextBuilder builder(text.size());
    for_each_character(text, [&](char32_t character, size_t begin, size_t end) {
      const bool apart = is_chinese(character);
      if (apart) builder.append(" ", text.source(begin));
      builder.append(text, begin, end);
      if (apart) builder.append(" ", text.source(end));
    });
    return builder.finish(text.source(text.size()));
  }

  BertNormalizerOptions options_;
};

class NmtNormalizer : public Normalizer {
 public:
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    return change_characters(text, [](char32_t c, std::string_view bytes, std::string& made) {
      const bool is_dropped =
          (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
      const bool is_space = c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                            (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
                            c == 0xfffd;
      if (!is_dropped) made += is_space ? std::string_view(" ") : bytes;
    });
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  AlignedText apply(AlignedText text, const TextPlace& place) const override {
    size_t first = text.size();
    size_t last = 0;  // behind the last character that is no white space
    for_each_character(text, [&](char32_t character, size_t begin, size_t end) {
      if (is_white_space(character)) return;
      first = std::min(first, begin);
      last = end;
    });
    const size_t begin = left_ && !place.goes_on_left ? first : 0;
    const size_t end = right_ && !place.goes_on_right ? last : text.size();
    AlignedTextBuilder builder(text.size());
    if (begin < end) builder.append(text, begin, end);
    return builder.finish(text.source(text.size()));
  }

 private:
  bool left_;
  bool right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  AlignedText apply(AlignedText text, const TextPlace& place) const override {
    if (text.empty() || place.goes_on_left) return text;
    AlignedTextBuilder builder(text.size() + prefix_.size());
    builder.append(prefix_, text.source(0));
    builder.append(text, 0, text.size());
    return builder.finish(text.source(text.size()));
  }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::string pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    const std::string& bytes = text.bytes();
    AlignedTextBuilder builder(bytes.size());
    size_t done = 0;
    for (size_t at = bytes.find(pattern_); at != std::string::npos; at = bytes.find(pattern_, done)) {
      builder.append(text, done, at);
      done = at + pattern_.size();
      builder.append_made(content_, text.source(at), text.source(done));
    }
    builder.append(text, done, bytes.size());
    return builder.finish(text.source(bytes.size()));
  }

 private:
  std::string pattern_;
  std::string content_;
};

class RegexReplaceNormalizer : public Normalizer {
 public:
  RegexReplaceNormalizer(std::unique_ptr<Regex> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override {
    AlignedTextBuilder builder(text.size());
    size_t done = 0;
    pattern_->for_each_match(text.bytes(), [&](size_t begin, size_t end) {
      builder.append(text, done, begin);
      builder.append_made(content_, text.source(begin), text.source(end));
      done = end;
    });
    builder.append(text, done, text.size());
    return builder.finish(text.source(text.size()));
  }

 private:
  std::unique_ptr<Regex> pattern_;
  std::string content_;
};

class CharsmapNormalizer : public Normalizer {
 public:
  explicit CharsmapNormalizer(Charsmap map) : map_(std::move(map)) {}
  AlignedText apply(AlignedText text, const TextPlace& /*place*/) const override { return map_.apply(text); }

 private:
  Charsmap map_;
};

}  // namespace

std::unique_ptr<Normalizer> make_form_normalizer(NormalForm form) { return std::make_unique<FormNormalizer>(form); }
std::unique_ptr<Normalizer> make_lowercase_normalizer() { return std::make_unique<LowercaseNormalizer>(); }
std::unique_ptr<Normalizer> make_strip_accents_normalizer() { return std::make_unique<StripAccentsNormalizer>(); }
std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}
std::unique_ptr<Normalizer> make_nmt_normalizer() { return std::make_unique<NmtNormalizer>(); }
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right) {
  return std::make_unique<StripNormalizer>(left, right);
}
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string text) {
  return std::make_unique<PrependNormalizer>(std::move(text));
}
std::unique_ptr<Normalizer> make_replace_normalizer(std::string pattern, std::string content) {
  return std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content));
}
std::unique_ptr<Normalizer> make_regex_replace_normalizer(std::unique_ptr<Regex> pattern, std::string content) {
  return std::make_unique<RegexReplaceNormalizer>(std::move(pattern), std::move(content));
}
std::unique_ptr<Normalizer> make_charsmap_normalizer(Charsmap map) {
  return std::make_unique<CharsmapNormalizer>(std::move(map));
}

}  // namespace segue
