// `segue prepare`: makes a dataset from text or from ready-made tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/choices.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "data_pipeline/token_type.h"
#include "data_pipeline/tokenizer/tokenizer_info.h"

namespace segue {

// kAuto: text, or tokens in a file that says what it is. kText: what a tokenizer reads. The others: raw little-endian
// tokens without a header, or, with a field, lists of them in lines of JSON.
enum class SourceFormat : uint8_t { kAuto, kText, kUInt16, kUInt32 };
inline const auto& table_of(SourceFormat /*format*/) {
  using enum SourceFormat;
  static constexpr ChoiceTable<SourceFormat, 4> kTable(
      {{kAuto, "auto"}, {kText, "text"}, {kUInt16, "uint16"}, {kUInt32, "uint32"}});
  return kTable;
}

// The type of a source's tokens: a byte of text, or a ready-made token. Of kAuto nobody knows before a look.
TokenType source_type_of(SourceFormat format);

// The options of the tokenizer of text; each kind has its own.
struct TokenizerOptions {
  TokenizerKind kind = TokenizerKind::kByte;
  std::filesystem::path file = {};  // instead of a kind: a tokenizer's file, whose content says its kind

  std::optional<LineMarks> line_marks = {};    // word: absent: none
  std::optional<std::string> line_mark = {};   // word: absent: <eos>
  std::optional<std::string> unknown = {};     // word: absent: <unk>
  std::optional<int64_t> min_count = {};       // word: absent: 1
  std::filesystem::path vocabulary_file = {};  // word: instead of the words of the training text
  std::filesystem::path model_file = {};       // sentencepiece: instead of training a model
  std::optional<std::string> encoding = {};    // tiktoken: absent: the one that the file is named after
  bool special_tokens = false;                 // huggingface, tiktoken: found in text
  void describe(JsonFields& fields);
  // Those of a tokenizer that nothing is learned for: `file`, which may be a list of words too, and how it is read.
  void describe_file(JsonFields& fields);
};

struct PrepareOptions {
  std::filesystem::path output = {};

  // The splits as files of their own (`train` at least); "-" among all sources once, for standard input...
  std::vector<std::filesystem::path> train = {};
  std::vector<std::filesystem::path> valid = {};
  std::vector<std::filesystem::path> test = {};
  // ...or all files one after the other, cut into train, valid and test: in these shares, whose sum is 1, or, where the
  // sum is another, in pieces of so many bytes of text or ready-made tokens. Where tokens may be longer than a byte,
  // a cut moves to the next beginning of a line.
  std::vector<std::filesystem::path> input = {};
  std::vector<double> fractions{0.9, 0.05, 0.05};

  SourceFormat format = SourceFormat::kAuto;
  // The sources are lines of JSON, each an object with the text or the tokens of a document in this field (a path of
  // keys, json_field.h), or archives of NumPy, whose array of this name is taken; empty: they are not.
  std::string field = {};
  // Sources are taken as they are, whatever they look like. Otherwise gzip, bzip2, xz and zstd are decompressed, a byte
  // order mark is left out, and what is neither text nor tokens is refused.
  bool as_is = false;
  TokenizerOptions tokenizer = {};
  // The size for ready-made tokens (absent: the largest token found, plus 1), the most words, or the number of pieces.
  std::optional<int64_t> vocabulary = {};
  // Put between two files or documents: a byte of text or a ready-made token, or text as people type it (unescaped()).
  std::optional<int64_t> separator = {};
  std::optional<std::string> separator_text = {};
  std::filesystem::path token_bytes = {};  // of ready-made tokens: a file that says the bytes of each (token_bytes.h)
  bool marks = false;                      // of ready-made tokens: beside every FILE lies FILE.marks (token_mark.h)
  std::optional<int64_t> example_tokens = {};  // of ready-made tokens: the splits are examples of so many

  int64_t compression = 0;                   // deflate level, 0: none
  int64_t shard_tokens = int64_t{64} << 20;  // at most so many in a shard; one shard is held in memory
  bool force = false;                        // replace an existing dataset
  bool quiet = false;                        // no progress
  std::string command = {};                  // for the manifest; not described
  void describe(JsonFields& fields);
  bool has_separator() const { return separator || separator_text; }
};

// Writes the dataset `output`, or throws and leaves nothing: UsageError for options that contradict each other,
// DataError for a source that is missing, empty, of another format, damaged, cut off inside a token, changing, or
// outside the vocabulary, FileError when the disk refuses. Memory does not depend on the size of the sources, only on
// the number of distinct words.
void prepare(const PrepareOptions& options, Logger& logger);

}  // namespace segue
