// Training of SentencePiece models.
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

// Lines at equal distances: when they become too many, every second one goes and the distance doubles.
class LineSample {
 public:
  void add(std::string_view line) {
    if (lines_seen_++ % distance_ != 0) return;
    lines_.emplace_back(line);
    bytes_ += std::ssize(lines_.back());
    if (bytes_ > kMostTrainingBytes) halve();
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  void halve() {
    distance_ *= 2;
    bytes_ = 0;
    size_t kept = 0;
    for (size_t i = 0; i < lines_.size(); i += 2) {
      std::swap(lines_[kept], lines_[i]);
      bytes_ += std::ssize(lines_[kept++]);
    }
    lines_.resize(kept);
  }

  std::vector<std::string> lines_;
  int64_t lines_seen_ = 0;
  int64_t distance_ = 1;
  int64_t bytes_ = 0;
};

// The library leaves out sentences that hold a character of its own: tab, zero, U+2581 or U+2585.
std::vector<std::string> without_reserved(const std::vector<std::string>& lines) {
  constexpr std::string_view kOthers = "\xe2\x96\x81\xe2\x96\x85";
  std::vector<std::string> sentences;
  for (const std::string& line : lines) {
    std::string sentence;
    const auto end_sentence = [&] {
      if (!sentence.empty()) sentences.push_back(std::exchange(sentence, {}));
    };
    for (size_t at = 0; at < line.size(); ++at) {
      const std::string_view next = std::string_view(line).substr(at, 3);
      const bool is_other = next == kOthers.substr(0, 3) || next == kOthers.substr(3);
      if (is_other) at += 2;
      if (is_other || line[at] == '\t' || line[at] == '\0') {
        end_sentence();
      } else {
        sentence += line[at];
      }
    }
    end_sentence();
  }
  return sentences;
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return at_ == sentences_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return sentences_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> sentences_;
  size_t at_ = 0;
};

class PieceLearner : public TokenizerLearner {
 public:
  explicit PieceLearner(int64_t vocabulary_size) : vocabulary_size_(vocabulary_size) {}

  bool learns_from(std::string_view split) const override { return split == "train"; }
  void begin_file(const std::string& file, int64_t offset) override { scanner_.begin_file(file, offset); }
  void append(std::string_view text) override { add(scanner_.append(text)); }
  void end_file() override { add(scanner_.end_file()); }

  std::unique_ptr<Tokenizer> finish() override {
    std::vector<std::string> sentences = without_reserved(sample_.take());
    if (sentences.empty()) throw DataError("sentencepiece: the training text holds nothing to learn from");
    Sentences iterator(std::move(sentences));
    std::string model;
    const sentencepiece::util::Status status =
        sentencepiece::SentencePieceTrainer::Train({{"model_type", "unigram"},
                                                    {"vocab_size", std::to_string(vocabulary_size_)},
                                                    {"byte_fallback", "true"},
                                                    {"normalization_rule_name", "identity"},
                                                    {"add_dummy_prefix", "false"},
                                                    {"remove_extra_whitespaces", "false"},
                                                    {"bos_id", "-1"},
                                                    {"eos_id", "-1"},
                                                    {"max_sentence_length", std::to_string(Utf8Lines::kLongestLine)},
                                                    {"num_threads", "4"},  // fixed, since sums depend on it
                                                    {"minloglevel", "2"}},
                                                   &iterator, &model);
    if (!status.ok()) throw DataError("sentencepiece: {}", reason_of(status.ToString()));
    return read_sentencepiece_model(model, "the trained model");
  }

 private:
  void add(const std::vector<TextLine>& lines) {
    for (const TextLine& line : lines)
      if (!line.text.empty()) sample_.add(line.text);
  }

  // Of "Internal: src/trainer_interface.cc(582) [condition] What people can use." the last part, without advice to use
  // flags of the library's programs.
  static std::string reason_of(const std::string& status) {
    const size_t place = status.find("] ");
    const std::string reason = place == std::string::npos ? status : status.substr(place + 2);
    constexpr std::string_view kTooSmall = "required_chars. ";
    constexpr std::string_view kAgainst = " vs ";
    const char* const end = reason.data() + reason.size();
    int64_t asked = 0;
    int64_t needed = 0;
    const size_t at = reason.find(kTooSmall);
    const size_t against = at == std::string::npos ? at : reason.find(kAgainst, at);
    if (against != std::string::npos &&
        std::from_chars(reason.data() + at + kTooSmall.size(), end, asked).ptr == reason.data() + against &&
        std::from_chars(reason.data() + against + kAgainst.size(), end, needed).ec == std::errc())
      return fmt::format(
          "--vocab-size: expected at least {} pieces, one for each character of the text, each byte and what is "
          "unknown, found {}",
          needed, asked);
    constexpr std::string_view kTooHigh = "Vocabulary size too high (";
    constexpr std::string_view kMost = "value <= ";
    const size_t high = reason.find(kTooHigh);
    const size_t most = reason.find(kMost);
    int64_t fits = 0;
    if (high != std::string::npos && most != std::string::npos &&
        std::from_chars(reason.data() + high + kTooHigh.size(), end, asked).ec == std::errc() &&
        std::from_chars(reason.data() + most + kMost.size(), end, fits).ec == std::errc())
      return fmt::format("--vocab-size: expected at most {} pieces, as many as this text has, found {}", fits, asked);
    return printable_line(without_flags(reason), 300);
  }

  // Without the sentences that name one.
  static std::string without_flags(const std::string& text) {
    std::string kept;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(". ", at), text.size() - 1) + 1;
      const std::string sentence = text.substr(at, end - at);
      if (sentence.find("--") == std::string::npos) kept += sentence;
      at = end;
    }
    return kept;
  }

  int64_t vocabulary_size_;
  Utf8Lines scanner_;
  LineSample sample_;
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_sentencepiece_learner(int64_t vocabulary_size) {
  return std::make_unique<PieceLearner>(vocabulary_size);
}

}  // namespace segue
