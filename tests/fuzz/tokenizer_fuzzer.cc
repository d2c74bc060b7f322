// Mutated vocabularies, lists of words, descriptions of tokenizers, and text: what reads is what would be stored, text
// gives the same tokens however it is cut, and anything else is an error of one printable line.
// The first byte decides which of these follows.
#include <algorithm>

#include "base/error.h"
#include "data_pipeline/tokenizer/symbol_tokenizer.h"
#include "data_pipeline/tokenizer/utf8_lines.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"
#include "tests/fuzz/demand.h"

namespace {

std::vector<uint32_t> encoded(const segue::Tokenizer& tokenizer, std::string_view text, size_t piece) {
  const std::unique_ptr<segue::Encoder> encoder = tokenizer.make_encoder();
  encoder->begin_file("fuzz", 0);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) encoder->append(text.substr(0, piece));
  encoder->end_file();
  encoder->end_split();
  const auto vocabulary = static_cast<uint32_t>(tokenizer.info().vocabulary);
  for (const uint32_t token : encoder->tokens()) segue::demand(token < vocabulary);
  return encoder->tokens();
}

void try_tokenizer(const segue::Tokenizer& tokenizer, std::string_view text) {
  segue::demand(!segue::first_complaint(tokenizer.info()));
  const auto again = segue::load_tokenizer(tokenizer.info(), tokenizer.file_text(), "fuzz");
  segue::demand(again->info() == tokenizer.info() && again->file_text() == tokenizer.file_text());
  const std::vector<uint32_t> tokens = encoded(tokenizer, text, text.size() + 1);
  for (const size_t piece : {1, 2, 3, 7}) segue::demand(encoded(*again, text, piece) == tokens);
  static_cast<void>(again->decode(std::vector<int32_t>(tokens.begin(), tokens.end())));
}

void try_vocabulary(const std::string& text) {
  segue::TokenizerInfo info{.kind = segue::TokenizerKind::kWord};
  info.vocabulary = std::count(text.begin(), text.end(), '\n');
  const auto tokenizer = segue::load_word_tokenizer(info, text, "fuzz");
  segue::demand(tokenizer->file_text() == text || tokenizer->file_text() == text + "\n");
}

void try_learning(std::unique_ptr<segue::TokenizerLearner> learner, std::string_view text) {
  learner->begin_file("fuzz", 0);
  learner->append(text);
  learner->end_file();
  learner->end_split();
  try_tokenizer(*learner->finish(), text);
}

void try_description(const std::string& text) {
  const auto info = segue::read_fields<segue::DataError, segue::TokenizerInfo>(
      segue::parse_json<segue::DataError>(text, "fuzz"), "fuzz");
  if (const auto complaint = segue::first_complaint(info))
    return segue::demand_one_line(complaint->path + complaint->expected + complaint->found);
  segue::demand_one_line(segue::describe(info));
  if (segue::has_symbols(info.kind)) try_tokenizer(*segue::load_symbol_tokenizer(info), "");
}

void try_lines(std::string_view text) {
  segue::Utf8Lines lines;
  lines.begin_file("fuzz", 0);
  std::string joined;
  const auto add = [&](const std::vector<segue::TextLine>& found) {
    for (const segue::TextLine& line : found) {
      segue::demand(line.offset == static_cast<int64_t>(joined.size()));
      joined.append(line.text).append(line.ended ? "\n" : "");
    }
  };
  for (std::string_view left = text; !left.empty(); left.remove_prefix(std::min<size_t>(3, left.size())))
    add(lines.append(left.substr(0, 3)));
  add(lines.end_file());
  segue::demand(joined == text && segue::valid_utf8_bytes(text) == text.size());
}

void try_input(char choice, const std::string& text) {
  const segue::WordOptions marked{.line_marks = segue::LineMarks::kBoth, .line_mark = "a", .unknown = "b"};
  if (choice == 'v') try_vocabulary(text);
  if (choice == 'l') try_tokenizer(*segue::read_word_list({.line_marks = {}, .unknown = "a"}, text, "fuzz"), text);
  if (choice == 'm') try_tokenizer(*segue::read_word_list(marked, text, "fuzz"), text);
  if (choice == 'w') try_learning(segue::make_word_learner({.vocabulary_size = 5}), text);
  if (choice == 'e') try_learning(segue::make_symbol_learner(segue::TokenizerKind::kEnwik8), text);
  if (choice == 't') try_learning(segue::make_symbol_learner(segue::TokenizerKind::kText8), text);
  if (choice == 'd') try_description(text);
  if (choice == 'u') try_lines(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    try_input(static_cast<char>(data[0]), {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const segue::DataError& error) {
    segue::demand_one_line(error.what());
  }
  return 0;
}
