// Byte pair encoding with a queue of merges: n log n for a piece of n characters.
#include <fmt/format.h>

#include <algorithm>

#include "data_pipeline/tokenizer/subword/subword_model.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {
namespace {

constexpr uint32_t kMerged = ~uint32_t{0};  // a symbol that its left neighbour has taken in

struct Symbol {
  uint32_t token = 0;
  uint32_t begin = 0;
  int32_t left = -1;
  int32_t right = -1;
};

struct Merge {
  uint32_t rank = 0;
  int32_t at = 0;
  uint32_t made = 0;
};

// Of the standard library's heaps: the lowest rank, then the leftmost, on top.
bool is_later(const Merge& a, const Merge& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; }

struct MergeWorkspace {
  std::vector<Symbol> symbols;
  std::vector<Merge> queue;
  std::optional<size_t> unknown_at;  // where an unknown token that waits begins

  void begin() {
    symbols.clear();
    unknown_at.reset();
  }
  void add(int64_t token, size_t begin) {
    const auto at = static_cast<int32_t>(symbols.size());
    if (at > 0) symbols.back().right = at;
    symbols.push_back({static_cast<uint32_t>(token), static_cast<uint32_t>(begin), at - 1, -1});
  }
};

// find(symbols, left, right): the rank and the token of a merge of two neighbours, as a value of MergeTable.
template <typename Find>
void merge_all(MergeWorkspace& work, const Find& find) {
  std::vector<Symbol>& symbols = work.symbols;
  std::vector<Merge>& queue = work.queue;
  const auto candidate = [&](int32_t at) {
    const int32_t right = symbols[static_cast<size_t>(at)].right;
    if (right < 0) return false;
    const std::optional<uint64_t> found = find(symbols, static_cast<size_t>(at), static_cast<size_t>(right));
    if (found) queue.push_back({static_cast<uint32_t>(*found >> 32), at, static_cast<uint32_t>(*found)});
    return found.has_value();
  };
  const auto push = [&](int32_t at) {
    if (candidate(at)) std::push_heap(queue.begin(), queue.end(), is_later);
  };
  queue.clear();
  for (int32_t at = 0; at < static_cast<int32_t>(symbols.size()); ++at) candidate(at);
  std::make_heap(queue.begin(), queue.end(), is_later);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), is_later);
    const Merge top = queue.back();
    queue.pop_back();
    Symbol& left = symbols[static_cast<size_t>(top.at)];
    if (left.token == kMerged || left.right < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.right)];
    const std::optional<uint64_t> now = find(symbols, static_cast<size_t>(top.at), static_cast<size_t>(left.right));
    if (!now || static_cast<uint32_t>(*now) != top.made) continue;
    left.token = top.made;
    left.right = right.right;
    if (right.right >= 0) symbols[static_cast<size_t>(right.right)].left = top.at;
    right.token = kMerged;
    if (left.left >= 0) push(left.left);
    push(top.at);
  }
}

void take_symbols(const MergeWorkspace& work, std::vector<SubwordToken>& tokens) {
  for (const Symbol& symbol : work.symbols)
    if (symbol.token != kMerged) tokens.push_back({symbol.token, symbol.begin});
}

MergeWorkspace& workspace() {
  thread_local MergeWorkspace work;
  return work;
}

class BpeModel : public SubwordModel {
 public:
  BpeModel(const SubwordVocabulary& vocabulary, MergeTable merges, BpeOptions options)
      : vocabulary_(vocabulary), merges_(std::move(merges)), options_(std::move(options)) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto value = static_cast<char>(byte);
      byte_tokens_.at(static_cast<size_t>(byte)) = options_.bytes
                                                       ? vocabulary.find(std::string_view(&value, 1))
                                                       : vocabulary.find(byte_token_text(static_cast<uint8_t>(byte)));
    }
  }

  void encode(std::string_view piece, bool is_part, std::vector<SubwordToken>& tokens) const override {
    if (options_.ignores_merges && !is_part) {
      if (const int64_t whole = vocabulary_.find(piece); whole >= 0) {
        tokens.push_back({static_cast<uint32_t>(whole), 0});
        return;
      }
    }
    MergeWorkspace& work = workspace();
    work.begin();
    add_characters(piece, work);
    merge_all(work, [this](const std::vector<Symbol>& symbols, size_t left, size_t right) -> std::optional<uint64_t> {
      const uint64_t* merge = merges_.merges.find(pair_key(symbols[left].token, symbols[right].token));
      if (merge == nullptr) return std::nullopt;
      return *merge;
    });
    take_symbols(work, tokens);
  }

 private:
  // The token of a character, with what the model puts before and behind it.
  int64_t token_of(std::string_view character, bool is_first, bool is_last) const {
    if (options_.bytes && options_.prefix.empty() && options_.suffix.empty())
      return byte_tokens_[static_cast<uint8_t>(character[0])];
    return vocabulary_.find(is_plain(is_first, is_last) ? character
                                                        : std::string_view(affixed(character, is_first, is_last)));
  }
  bool is_plain(bool is_first, bool is_last) const {
    return (is_first || options_.prefix.empty()) && (!is_last || options_.suffix.empty());
  }
  const std::string& affixed(std::string_view character, bool is_first, bool is_last) const {
    thread_local std::string text;
    text.clear();
    if (!is_first) text += options_.prefix;
    text += character;
    if (is_last) text += options_.suffix;
    return text;
  }

  void add_characters(std::string_view piece, MergeWorkspace& work) const {
    for (size_t at = 0; at < piece.size();) {
      const size_t end = at + (options_.bytes ? 1 : character_size(piece[at]));
      const std::string_view character = piece.substr(at, end - at);
      const bool is_last = end == piece.size();
      const int64_t token = token_of(character, at == 0, is_last);
      if (token >= 0) {
        flush_unknown(work);
        work.add(token, at);
      } else if (!add_bytes(character, at, is_last, work)) {
        add_unknown(character, at, work);
      }
      at = end;
    }
    flush_unknown(work);
  }

  // As tokenizers does: the bytes of what is put before and behind it too, and before an unknown token that waits.
  bool add_bytes(std::string_view character, size_t at, bool is_last, MergeWorkspace& work) const {
    if (!options_.byte_fallback || options_.bytes) return false;
    const std::string text = affixed(character, at == 0, is_last);
    for (const char c : text)
      if (byte_tokens_[static_cast<uint8_t>(c)] < 0) return false;
    size_t i = 0;
    for (const char c : text) work.add(byte_tokens_[static_cast<uint8_t>(c)], at + std::min(i++, character.size() - 1));
    return true;
  }

  void add_unknown(std::string_view character, size_t at, MergeWorkspace& work) const {
    if (options_.unknown.is_dropped) return;
    if (options_.unknown.token < 0)
      throw SubwordError{fmt::format("no token for a character of {} bytes, and no unknown token", character.size())};
    if (work.unknown_at && options_.unknown.fuses) return;
    flush_unknown(work);
    work.unknown_at = at;
  }
  void flush_unknown(MergeWorkspace& work) const {
    if (work.unknown_at) work.add(options_.unknown.token, *work.unknown_at);
    work.unknown_at.reset();
  }

  const SubwordVocabulary& vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::array<int64_t, 256> byte_tokens_{};
};

class RankModel : public SubwordModel {
 public:
  explicit RankModel(const SubwordVocabulary& vocabulary) : vocabulary_(vocabulary) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto value = static_cast<char>(byte);
      byte_tokens_.at(static_cast<size_t>(byte)) = vocabulary.find(std::string_view(&value, 1));
    }
  }

  void encode(std::string_view piece, bool /*is_part*/, std::vector<SubwordToken>& tokens) const override {
    if (const int64_t whole = vocabulary_.find(piece); whole >= 0) {
      tokens.push_back({static_cast<uint32_t>(whole), 0});
      return;
    }
    MergeWorkspace& work = workspace();
    work.begin();
    for (size_t at = 0; at < piece.size(); ++at) work.add(byte_tokens_[static_cast<uint8_t>(piece[at])], at);
    merge_all(work, [&](const std::vector<Symbol>& symbols, size_t left, size_t right) -> std::optional<uint64_t> {
      const size_t begin = symbols[left].begin;
      const int32_t next = symbols[right].right;
      const size_t end = next < 0 ? piece.size() : symbols[static_cast<size_t>(next)].begin;
      const int64_t token = vocabulary_.find(piece.substr(begin, end - begin));
      if (token < 0) return std::nullopt;
      return pair_key(static_cast<uint32_t>(token), static_cast<uint32_t>(token));
    });
    take_symbols(work, tokens);
  }

 private:
  const SubwordVocabulary& vocabulary_;
  std::array<int64_t, 256> byte_tokens_{};
};

}  // namespace

std::unique_ptr<SubwordModel> make_bpe_model(const SubwordVocabulary& vocabulary, MergeTable merges,
                                             const BpeOptions& options) {
  return std::make_unique<BpeModel>(vocabulary, std::move(merges), options);
}

std::unique_ptr<SubwordModel> make_rank_model(const SubwordVocabulary& vocabulary) {
  return std::make_unique<RankModel>(vocabulary);
}

std::string byte_token_text(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<uint8_t> byte_of_token_text(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || !text.ends_with('>')) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(text[3]);
  const int low = digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

}  // namespace segue
