#include "data_pipeline/tokenizer/word_tokenizer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "data_pipeline/token_type.h"
#include "data_pipeline/tokenizer/utf8_lines.h"
#include "data_pipeline/tokenizer/word_scanner.h"
#include "data_pipeline/tokenizer/word_table.h"

namespace segue {
namespace {

constexpr size_t kLongestExcerpt = 60;

// What a scanner finds, some of it at a time: a table of words is large, and loads what it needs of the next ones while
// it works on others.
class WordBatches : private WordScanner::Visitor {
 public:
  ~WordBatches() override = default;

 protected:
  struct Item {
    std::string_view word;  // empty: the line ends
    int64_t offset = 0;
    WordTable::Key key;
  };
  explicit WordBatches(const WordTable& words) : words_(words) {}

  void begin_scan(const std::string& file, int64_t offset) { scanner_.begin_file(file, offset); }
  void scan(std::string_view text) {
    take_all_of([&] { scanner_.append(text, *this); });
  }
  void end_scan() {
    take_all_of([this] { scanner_.end_file(*this); });
  }

 private:
  virtual void take(const Item& item) = 0;  // in the order of the text

  void word(std::string_view word, int64_t offset) override {
    Item& item = items_[count_];
    item = {word, offset, WordTable::key_of(word)};
    words_.prefetch(item.key);
    count_item();
  }
  void end_line(int64_t offset) override {
    items_[count_] = {{}, offset, {}};
    count_item();
  }
  void count_item() {
    if (++count_ == items_.size()) take_items();
  }
  void take_items() {
    const std::span items = std::span(items_).first(std::exchange(count_, 0));
    for (const Item& item : items) take(item);
  }
  // What was found before an error may hold an earlier one.
  template <typename Scan>
  void take_all_of(const Scan& scan) {
    try {
      scan();
    } catch (const DataError&) {
      take_items();
      throw;
    }
    take_items();
  }

  const WordTable& words_;
  WordScanner scanner_;
  std::array<Item, 32> items_;
  size_t count_ = 0;
};

class WordEncoder : public Encoder, private WordBatches {
 public:
  WordEncoder(const WordTable& words, const TokenizerInfo& info) : WordBatches(words), words_(words), info_(info) {}

 private:
  void start_file(const std::string& file, int64_t offset) override {
    file_ = file;
    begin_scan(file, offset);
  }
  void encode(std::string_view text) override { scan(text); }
  void finish_file() override { end_scan(); }

  void take(const Item& item) override { item.word.empty() ? take_line_end(item.offset) : take_word(item); }

  void take_word(const Item& item) {
    begin_line(item.offset);
    const int64_t token = words_.find(item.word, item.key);
    if (token >= 0) return token == info_.unknown_token ? put_unknown(token, item.offset) : put(token, item.offset);
    if (info_.unknown_token < 0)
      throw DataError("{}: byte {}: word \"{}\" is not in the vocabulary, which has no unknown word either", file_,
                      item.offset, printable_line(item.word, kLongestExcerpt));
    put_unknown(info_.unknown_token, item.offset);
  }

  void begin_line(int64_t offset) {
    if (std::exchange(in_line_, true) || info_.line_marks != LineMarks::kBoth) return;
    put(info_.line_mark_token, offset);
  }

  void take_line_end(int64_t offset) {
    begin_line(offset);
    in_line_ = false;
    if (info_.line_marks != LineMarks::kNone) put(info_.line_mark_token, offset);
  }

  const WordTable& words_;
  const TokenizerInfo& info_;
  std::string file_;
  bool in_line_ = false;
};

// One word per line, in their order.
std::string listed(const WordTable& words) {
  std::string text;
  for (int64_t index = 0; index < words.size(); ++index) text.append(words.word(index)).append("\n");
  return text;
}

class WordTokenizer : public Tokenizer {
 public:
  WordTokenizer(WordTable words, const TokenizerInfo& info) : words_(std::move(words)) {
    info_ = info;
    info_.vocabulary = words_.size();
    const std::string text = listed(words_);
    info_.checksum = checksum_of(std::as_bytes(std::span(text)));
  }

  std::string file_text() const override { return listed(words_); }

  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<WordEncoder>(words_, info_); }

 private:
  // Words stand apart by a space; a mark stands for the end of a line.
  void append_text(int32_t token, std::string& text) const override {
    if (token == info_.line_mark_token) {
      text += '\n';
    } else {
      if (!text.empty() && text.back() != '\n') text += ' ';
      text += words_.word(token);
    }
  }

  WordTable words_;
};

void check_word(const std::string& word, const char* what) {
  if (word.empty() || has_white_space(word))
    throw UsageError("{}: expected a word without white space, found \"{}\"", what,
                     printable_line(word, kLongestExcerpt));
}

void check_options(const WordOptions& options) {
  check_word(options.line_mark, "--eos-word");
  check_word(options.unknown, "--unk");
  if (options.line_mark == options.unknown)
    throw UsageError("--eos-word and --unk: expected two words, found \"{}\" twice", options.unknown);
}

class WordLearner : public TokenizerLearner, private WordBatches {
 public:
  explicit WordLearner(WordOptions options) : WordBatches(words_), options_(std::move(options)) {}

  bool learns_from(std::string_view split) const override { return split == "train"; }
  void begin_file(const std::string& file, int64_t offset) override { begin_scan(file, offset); }
  void append(std::string_view text) override { scan(text); }
  void end_file() override { end_scan(); }

  std::unique_ptr<Tokenizer> finish() override {
    TokenizerInfo info{.kind = TokenizerKind::kWord, .line_marks = options_.line_marks};
    WordTable vocabulary;
    if (options_.line_marks != LineMarks::kNone) info.line_mark_token = vocabulary.add(options_.line_mark);
    const std::vector<int64_t> ranked = ranked_words();
    std::span<const int64_t> kept = first_of(ranked, vocabulary.size());
    const bool unknown_is_kept =
        std::any_of(kept.begin(), kept.end(), [this](int64_t index) { return words_.word(index) == options_.unknown; });
    if (!unknown_is_kept) {
      info.unknown_token = vocabulary.add(options_.unknown);
      kept = first_of(ranked, vocabulary.size());
    }
    for (const int64_t index : kept) vocabulary.add(words_.word(index));
    info.unknown_token = vocabulary.find(options_.unknown);
    return std::make_unique<WordTokenizer>(std::move(vocabulary), info);
  }

 private:
  void take(const Item& item) override {
    if (item.word.empty()) return;
    const auto index = static_cast<size_t>(words_.add(item.word, item.key));
    if (index == counts_.size()) counts_.push_back(0);
    ++counts_[index];
  }

  // All but the mark of lines, which has its token already, and the rare ones.
  std::vector<int64_t> ranked_words() const {
    std::vector<int64_t> ranked(counts_.size());
    std::iota(ranked.begin(), ranked.end(), int64_t{0});
    const int64_t mark = options_.line_marks == LineMarks::kNone ? -1 : words_.find(options_.line_mark);
    std::erase_if(ranked, [&](int64_t index) { return index == mark || count_of(index) < options_.min_count; });
    std::stable_sort(ranked.begin(), ranked.end(), [this](int64_t a, int64_t b) { return count_of(a) > count_of(b); });
    return ranked;
  }
  int64_t count_of(int64_t index) const { return counts_[static_cast<size_t>(index)]; }

  // Those for which there is room beside `taken` tokens.
  std::span<const int64_t> first_of(std::span<const int64_t> ranked, int64_t taken) const {
    const int64_t room = std::max(int64_t{0}, options_.vocabulary_size.value_or(kLargestVocabulary) - taken);
    return ranked.first(std::min(ranked.size(), static_cast<size_t>(room)));
  }

  WordOptions options_;
  WordTable words_;
  std::vector<int64_t> counts_;  // by the word's number
};

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// As people write lists: ends of lines are "\n", "\r\n" or "\r".
std::string_view take_listed_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  text.remove_prefix(line.size());
  text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<size_t>(1, text.size()));
  return line;
}

// Adds the word of a line, counted from 1.
void add_listed(WordTable& words, std::string_view word, int64_t line, const std::string& source) {
  const int64_t size = words.size();
  if (words.add(word) < size)
    throw DataError("{}: line {}: expected a word of its own, found \"{}\" a second time", source, line,
                    printable_line(word, kLongestExcerpt));
}

std::string_view first_word(std::string_view line) {
  while (!line.empty() && white_space_at(line) > 0) line.remove_prefix(white_space_at(line));
  size_t bytes = 0;
  while (bytes < line.size() && white_space_at(line.substr(bytes)) == 0) ++bytes;
  return line.substr(0, bytes);
}

}  // namespace

std::unique_ptr<TokenizerLearner> make_word_learner(const WordOptions& options) {
  check_options(options);
  return std::make_unique<WordLearner>(options);
}

std::unique_ptr<Tokenizer> read_word_list(const WordOptions& options, const std::string& list,
                                          const std::string& source) {
  check_options(options);
  WordTable words;
  std::string_view left = list;
  for (int64_t line = 1; !left.empty(); ++line) {
    const std::string_view word = first_word(take_listed_line(left));
    if (word.empty()) throw DataError("{}: line {}: expected a word, found none", source, line);
    if (const size_t valid = valid_utf8_bytes(word); valid < word.size())
      throw DataError("{}: line {}: expected UTF-8, found byte 0x{:02x}", source, line,
                      static_cast<uint8_t>(word[valid]));
    add_listed(words, word, line, source);
  }
  if (words.size() == 0) throw DataError("{}: expected a word on each line, found an empty file", source);
  TokenizerInfo info{.kind = TokenizerKind::kWord, .line_marks = options.line_marks};
  if (options.line_marks != LineMarks::kNone) {
    info.line_mark_token = words.find(options.line_mark);
    if (info.line_mark_token < 0)
      throw DataError("{}: expected the mark of lines \"{}\", found no such word", source, options.line_mark);
  }
  info.unknown_token = words.find(options.unknown);
  return std::make_unique<WordTokenizer>(std::move(words), info);
}

std::unique_ptr<Tokenizer> load_word_tokenizer(const TokenizerInfo& info, const std::string& vocabulary,
                                               const std::string& source) {
  WordTable words;
  std::string_view left = vocabulary;
  while (!left.empty()) {
    const std::string_view word = take_line(left);
    if (word.empty() || has_white_space(word))
      throw DataError("{}: line {}: expected a word without white space, found \"{}\"", source, words.size() + 1,
                      printable_line(word, kLongestExcerpt));
    add_listed(words, word, words.size() + 1, source);
  }
  if (words.size() != info.vocabulary)
    throw DataError("{}: expected {} words, found {}", source, info.vocabulary, words.size());
  return std::make_unique<WordTokenizer>(std::move(words), info);
}

}  // namespace segue
