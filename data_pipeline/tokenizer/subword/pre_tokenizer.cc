// Cuts by patterns, by classes of characters, and at marks of spaces.
#include "data_pipeline/tokenizer/subword/pre_tokenizer.h"

#include <optional>
#include <span>
#include <utility>

#include "data_pipeline/tokenizer/subword/unicode_data.h"

namespace segue {
namespace {

// A part of a piece, which the pattern matches or which lies between matches.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

void add_span(std::vector<Span>& spans, size_t begin, size_t end, bool is_match) {
  spans.push_back({begin, end, is_match});
}

// The parts of a text of `size` bytes, by calls of find(visit) that visit matches from left to right.
template <typename Find>
void find_spans(size_t size, const Find& find, std::vector<Span>& spans) {
  spans.clear();
  size_t done = 0;
  find([&](size_t begin, size_t end) {
    if (done != begin) add_span(spans, done, begin, false);
    add_span(spans, begin, end, true);
    done = end;
  });
  if (done != size) add_span(spans, done, size, false);
}

// Joins a match to what is before it, or behind it where `spans` are turned around, as tokenizers does: the first of
// two matches in a row alone.
void join_matches(std::vector<Span>& spans, bool backwards) {
  std::vector<Span> joined;
  bool was_match = false;
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[backwards ? spans.size() - 1 - i : i];
    const bool joins = span.is_match && !was_match && !joined.empty();
    was_match = span.is_match;
    if (!joins) {
      joined.push_back(span);
    } else if (backwards) {
      joined.back().begin = span.begin;
    } else {
      joined.back().end = span.end;
    }
  }
  if (backwards) std::reverse(joined.begin(), joined.end());
  spans = std::move(joined);
}

void join_runs(std::vector<Span>& spans) {
  std::vector<Span> joined;
  bool was_match = false;
  for (const Span& span : spans) {
    if (span.is_match == was_match && !joined.empty()) {
      joined.back().end = span.end;
    } else {
      joined.push_back(span);
    }
    was_match = span.is_match;
  }
  spans = std::move(joined);
}

void apply_behavior(SplitBehavior behavior, std::vector<Span>& spans) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kRemoved:
      std::erase_if(spans, [](const Span& span) { return span.is_match; });
      return;
    case SplitBehavior::kContiguous:
      return join_runs(spans);
    case SplitBehavior::kMergedWithPrevious:
      return join_matches(spans, false);
    case SplitBehavior::kMergedWithNext:
      return join_matches(spans, true);
  }
}

// Cuts every piece by find(piece's text, visit).
template <typename Find>
void cut_pieces(PieceText& text, SplitBehavior behavior, bool invert, const Find& find) {
  std::vector<Piece> pieces;
  pieces.reserve(2 * text.pieces.size());
  std::vector<Span> spans;
  for (const Piece& piece : text.pieces) {
    if (piece.token >= 0) {
      pieces.push_back(piece);
      continue;
    }
    const std::string_view bytes = text.text.view(piece.begin, piece.end);
    find_spans(
        bytes.size(), [&](const auto& visit) { find(bytes, visit); }, spans);
    if (invert)
      for (Span& span : spans) span.is_match = !span.is_match;
    apply_behavior(behavior, spans);
    for (const Span& span : spans)
      if (span.begin < span.end) pieces.push_back({.begin = piece.begin + span.begin, .end = piece.begin + span.end});
  }
  text.pieces = std::move(pieces);
}

class RegexSplit : public PreTokenizer {
 public:
  RegexSplit(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void cut(PieceText& text, const TextPlace& /*place*/) const override {
    cut_pieces(text, behavior_, invert_,
               [this](std::string_view bytes, const auto& visit) { pattern_->for_each_match(bytes, visit); });
  }

 private:
  std::unique_ptr<Regex> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class StringSplit : public PreTokenizer {
 public:
  StringSplit(std::string pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void cut(PieceText& text, const TextPlace& /*place*/) const override {
    cut_pieces(text, behavior_, invert_, [this](std::string_view bytes, const auto& visit) {
      size_t done = 0;
      for (size_t at = bytes.find(pattern_); at != std::string_view::npos; at = bytes.find(pattern_, done)) {
        done = at + pattern_.size();
        visit(at, done);
      }
    });
  }

 private:
  std::string pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Every character of a class is a match.
template <typename IsMatch>
class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(SplitBehavior behavior, IsMatch is_match) : behavior_(behavior), is_match_(std::move(is_match)) {}
  void cut(PieceText& text, const TextPlace& /*place*/) const override {
    cut_pieces(text, behavior_, false, [this](std::string_view bytes, const auto& visit) {
      for (size_t at = 0; at < bytes.size();) {
        const size_t end = at + character_size(bytes[at]);
        if (is_match_(decode_character(bytes, at))) visit(at, end);
        at = end;
      }
    });
  }

 private:
  SplitBehavior behavior_;
  IsMatch is_match_;
};

template <typename IsMatch>
std::unique_ptr<PreTokenizer> make_character_split(SplitBehavior behavior, IsMatch is_match) {
  return std::make_unique<CharacterSplit<IsMatch>>(behavior, std::move(is_match));
}

class WordsSplit : public PreTokenizer {
 public:
  void cut(PieceText& text, const TextPlace& /*place*/) const override {
    cut_pieces(text, SplitBehavior::kRemoved, true, [](std::string_view bytes, const auto& visit) {
      Kind kind = Kind::kWhiteSpace;
      size_t begin = 0;
      for (size_t at = 0; at < bytes.size(); at += character_size(bytes[at])) {
        const Kind here = kind_of(decode_character(bytes, at));
        if (here == kind) continue;
        if (kind != Kind::kWhiteSpace) visit(begin, at);
        kind = here;
        begin = at;
      }
      if (kind != Kind::kWhiteSpace) visit(begin, bytes.size());
    });
  }

 private:
  enum class Kind { kWhiteSpace, kWord, kOther };
  static Kind kind_of(char32_t character) {
    if (is_word_character(character)) return Kind::kWord;
    return is_white_space(character) ? Kind::kWhiteSpace : Kind::kOther;
  }
};

class LengthSplit : public PreTokenizer {
 public:
  explicit LengthSplit(size_t characters) : characters_(characters) {}
  void cut(PieceText& text, const TextPlace& /*place*/) const override {
    cut_pieces(text, SplitBehavior::kIsolated, false, [this](std::string_view bytes, const auto& visit) {
      size_t begin = 0;
      size_t count = 0;
      for (size_t at = 0; at < bytes.size(); at += character_size(bytes[at])) {
        if (count++ != characters_) continue;
        visit(begin, at);
        begin = at;
        count = 1;
      }
      if (begin < bytes.size()) visit(begin, bytes.size());
    });
  }

 private:
  size_t characters_;
};

class BertSplit : public PreTokenizer {
 public:
  void cut(PieceText& text, const TextPlace& place) const override {
    white_space_->cut(text, place);
    punctuation_->cut(text, place);
  }

 private:
  std::unique_ptr<PreTokenizer> white_space_ = make_white_space_split();
  std::unique_ptr<PreTokenizer> punctuation_ = make_punctuation_split(SplitBehavior::kIsolated);
};

// Whether a piece begins where the text before it, which is not here, ends.
bool goes_on(const Piece& piece, const TextPlace& place) { return piece.begin == 0 && place.goes_on_left; }

// Writes the text anew, piece by piece.
template <typename Write>
void rewrite(PieceText& text, const Write& write) {
  AlignedTextBuilder builder(text.text.size() + text.pieces.size());
  for (Piece& piece : text.pieces) {
    const size_t begin = builder.size();
    if (piece.token >= 0) {
      builder.append(text.text, piece.begin, piece.end);
    } else {
      write(piece, builder);
    }
    piece.begin = begin;
    piece.end = builder.size();
  }
  text.text = builder.finish(text.text.source(text.text.size()));
}

class ByteLevelPrefix : public PreTokenizer {
 public:
  void cut(PieceText& text, const TextPlace& place) const override {
    rewrite(text, [&](const Piece& piece, AlignedTextBuilder& builder) {
      if (text.text.bytes()[piece.begin] != ' ' && !goes_on(piece, place))
        builder.append(" ", text.text.source(piece.begin));
      builder.append(text.text, piece.begin, piece.end);
    });
  }
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string mark, PrefixScheme scheme, bool split)
      : mark_(std::move(mark)), scheme_(scheme), cutter_(mark_, SplitBehavior::kMergedWithNext, false), split_(split) {}

  void cut(PieceText& text, const TextPlace& place) const override {
    rewrite(text, [&](const Piece& piece, AlignedTextBuilder& builder) { write(text.text, piece, place, builder); });
    if (split_) cutter_.cut(text, place);
  }

 private:
  void write(const AlignedText& text, const Piece& piece, const TextPlace& place, AlignedTextBuilder& builder) const {
    const std::string_view bytes = text.view(piece.begin, piece.end);
    const bool is_first = place.begins_source && text.source(piece.begin) == 0;
    const bool is_asked = scheme_ == PrefixScheme::kAlways || (scheme_ == PrefixScheme::kFirst && is_first);
    const bool has_mark = bytes.front() == ' ' || bytes.starts_with(mark_);
    if (is_asked && !has_mark && !goes_on(piece, place)) builder.append(mark_, text.source(piece.begin));
    size_t done = 0;
    for (size_t at = bytes.find(' '); at != std::string_view::npos; at = bytes.find(' ', done)) {
      builder.append(text, piece.begin + done, piece.begin + at);
      done = at + 1;
      builder.append_made(mark_, text.source(piece.begin + at), text.source(piece.begin + done));
    }
    builder.append(text, piece.begin + done, piece.end);
  }

  std::string mark_;
  PrefixScheme scheme_;
  StringSplit cutter_;
  bool split_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_regex_split(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<RegexSplit>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> make_string_split(std::string pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<StringSplit>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> make_byte_level_prefix() { return std::make_unique<ByteLevelPrefix>(); }
std::unique_ptr<PreTokenizer> make_metaspace(std::string mark, PrefixScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(mark), scheme, split);
}
std::unique_ptr<PreTokenizer> make_words_split() { return std::make_unique<WordsSplit>(); }
std::unique_ptr<PreTokenizer> make_white_space_split() {
  return make_character_split(SplitBehavior::kRemoved, is_white_space);
}
std::unique_ptr<PreTokenizer> make_bert_split() { return std::make_unique<BertSplit>(); }
std::unique_ptr<PreTokenizer> make_digits_split(bool individual) {
  return make_character_split(individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, is_numeric);
}
std::unique_ptr<PreTokenizer> make_punctuation_split(SplitBehavior behavior) {
  return make_character_split(behavior, is_punctuation);
}
std::unique_ptr<PreTokenizer> make_delimiter_split(char32_t delimiter) {
  return make_character_split(SplitBehavior::kRemoved, [delimiter](char32_t c) { return c == delimiter; });
}
std::unique_ptr<PreTokenizer> make_length_split(size_t characters) { return std::make_unique<LengthSplit>(characters); }

}  // namespace segue
