#include "data_pipeline/corpus_pass.h"

#include <algorithm>
#include <utility>

#include "base/progress.h"
#include "data_pipeline/separator.h"
#include "data_pipeline/source_reader.h"

namespace segue {
namespace {

int64_t bytes_of_corpora(const std::vector<Corpus>& corpora) {
  int64_t bytes = 0;
  for (const Corpus& corpus : corpora)
    for (const SourceFile& file : corpus.files) bytes += file.bytes;
  return bytes;
}

bool keeps_lines_whole(const PrepareOptions& options) {
  return options.format == SourceFormat::kText && needs_lines(options.tokenizer.kind);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// As what the passes over text or over ready-made tokens hold.
std::string bytes_of_separator(const PrepareOptions& options) {
  if (options.format == SourceFormat::kText) return separator_of_text(options).value_or("");
  if (!options.separator) return {};
  const auto token = static_cast<uint32_t>(*options.separator);
  const auto bytes = static_cast<size_t>(bytes_of(source_type_of(options.format)));
  return std::string(as_text(std::as_bytes(std::span(&token, 1)).first(bytes)));
}

// Hands the text of a corpus to the sinks of its splits.
class CorpusPass {
 public:
  // With `whole_lines`, splits are cut where a line begins, or a document behind the separator.
  CorpusPass(const Corpus& corpus, bool whole_lines, std::string separator, const SinkOfSplit& sink_of)
      : corpus_(corpus),
        whole_lines_(whole_lines),
        separator_(std::move(separator)),
        sink_of_(sink_of),
        sink_(sink_of(corpus.splits[0].name)) {}

  // A text of its own between two files.
  void append_separator() {
    file_begin_ = position_;
    append(separator_);
    end_file();
  }

  // The text begins `skipped` bytes into the file.
  void begin_file(SourceInfo& source, int64_t skipped) {
    source_ = &source;
    file_begin_ = position_ - skipped;
  }

  void append(std::string_view text) {
    while (!text.empty()) {
      while (is_split_done()) turn_to_next_split();
      const std::string_view part = text.substr(0, bytes_for_split(text));
      if (!in_part_) begin_part();
      if (sink_ != nullptr) sink_->append(part);
      position_ += std::ssize(part);
      may_cut_ = part.back() == '\n' || ends_document(part);
      remember(part);
      text.remove_prefix(part.size());
    }
  }

  void end_document() {
    if (in_part_ && sink_ != nullptr) sink_->end_document();
  }

  void end_file() {
    end_part();
    source_ = nullptr;
    may_cut_ = true;
    last_.clear();
  }

  // Splits that have got nothing are opened and ended, too.
  void end() {
    while (split_ + 1 < corpus_.splits.size()) turn_to_next_split();
    if (sink_ != nullptr) sink_->end_split();
  }

 private:
  bool is_split_done() const {
    const bool last = split_ + 1 == corpus_.splits.size();
    return !last && position_ >= corpus_.splits[split_].end && (!whole_lines_ || may_cut_);
  }

  size_t bytes_for_split(std::string_view text) const {
    const int64_t left = corpus_.splits[split_].end - position_;
    if (split_ + 1 == corpus_.splits.size()) return text.size();
    if (left > 0) return std::min(text.size(), static_cast<size_t>(left));
    const size_t line = std::min(text.size() - 1, text.find('\n')) + 1;
    if (separator_.empty()) return line;
    const std::string seen = last_ + std::string(text.substr(0, line));
    const size_t at = seen.find(separator_);
    return at == std::string::npos ? line : at + separator_.size() - last_.size();
  }

  bool ends_document(std::string_view part) const {
    return !separator_.empty() &&
           (last_ + std::string(part.substr(part.size() - std::min(part.size(), separator_.size()))))
               .ends_with(separator_);
  }

  // Of the text so far, what may be the beginning of a separator.
  void remember(std::string_view part) {
    if (separator_.empty()) return;
    last_ += part.substr(part.size() - std::min(part.size(), separator_.size()));
    last_.erase(0, last_.size() - std::min(last_.size(), separator_.size() - 1));
  }

  // Begins the part of a file, or of the separator, in this split.
  void begin_part() {
    in_part_ = true;
    if (source_ != nullptr) source_->splits.push_back(corpus_.splits[split_].name);
    if (sink_ != nullptr) sink_->begin_file(source_ != nullptr ? source_->file : "separator", position_ - file_begin_);
  }
  void end_part() {
    if (in_part_ && sink_ != nullptr) sink_->end_file();
    in_part_ = false;
  }

  void turn_to_next_split() {
    end_part();
    if (sink_ != nullptr) sink_->end_split();
    sink_ = sink_of_(corpus_.splits[++split_].name);
  }

  const Corpus& corpus_;
  bool whole_lines_;
  std::string separator_;  // bytes; empty: none
  const SinkOfSplit& sink_of_;
  size_t split_ = 0;
  TextSink* sink_;
  int64_t position_ = 0;          // bytes of the corpus so far
  SourceInfo* source_ = nullptr;  // null: between files
  int64_t file_begin_ = 0;
  bool in_part_ = false;
  bool may_cut_ = true;  // a line or a document begins
  std::string last_;     // text that may be the beginning of a separator
};

}  // namespace

PassResult read_corpora(const PrepareOptions& options, const std::vector<Corpus>& corpora, const std::string& what,
                        const SinkOfSplit& sink_of) {
  const TokenType type = source_type_of(options.format);
  const bool text = options.format == SourceFormat::kText;
  const int64_t limit = text ? largest_vocabulary(type) : options.vocabulary.value_or(largest_vocabulary(type));
  const std::string separator = bytes_of_separator(options);
  Progress progress(what, bytes_of_corpora(corpora), "MB", 1e6, options.quiet);
  int64_t done = 0;
  PassResult result;
  for (const Corpus& corpus : corpora) {
    CorpusPass pass(corpus, keeps_lines_whole(options), separator, sink_of);
    for (const SourceFile& file : corpus.files) {
      if (&file != &corpus.files.front() && !separator.empty()) {
        pass.append_separator();
        result.largest_token = std::max(result.largest_token, options.separator.value_or(0));
      }
      SourceReader reader(file, type, limit, text && !options.as_is ? &result.signs : nullptr);
      SourceInfo source{.file = file.path.string(), .bytes = file.file_bytes, .checksum = {}, .splits = {}};
      pass.begin_file(source, file.skipped);
      for (std::span<const std::byte> block = reader.next(); !block.empty(); block = reader.next()) {
        size_t begin = 0;
        for (const size_t end : reader.document_ends()) {
          pass.append(as_text(block.subspan(begin, end - begin)));
          pass.end_document();
          begin = end;
        }
        pass.append(as_text(block.subspan(begin)));
        progress.advance_to(done += std::ssize(block));
      }
      pass.end_file();
      source.checksum = reader.checksum();
      const std::vector<std::string> splits = source.splits;
      result.sources.push_back(std::move(source));
      if (file.tokens && !file.tokens->index.empty())
        result.sources.push_back(source_beside(file.tokens->index, splits));
      result.largest_token = std::max(result.largest_token, reader.largest_token());
    }
    pass.end();
  }
  progress.finish();
  return result;
}

}  // namespace segue
