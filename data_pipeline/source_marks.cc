// Marks lie in files of their own and are read as sources of bytes.
#include "data_pipeline/source_marks.h"

#include "base/error.h"
#include "base/text.h"
#include "data_pipeline/source_reader.h"
#include "data_pipeline/split_writer.h"

namespace segue {

namespace {

// Adds those of one source.
void append_marks(const SourceFile& tokens, const PrepareOptions& options, const std::filesystem::path& directory,
                  SplitWriter& writer, DatasetManifest& manifest, const std::string& split) {
  const std::filesystem::path path = marks_of_source(tokens.path);
  const int64_t expected = tokens.bytes / bytes_of(source_type_of(options.format));
  PrepareOptions bytes;
  bytes.as_is = true;
  const SourceFile file = inspect_source(path, bytes, directory);
  if (file.bytes != expected)
    throw DataError("{}: expected a mark, one byte, for each of the {} tokens of {}, found {}", path.string(),
                    human_count(expected), tokens.path.string(), human_count(file.bytes));
  SourceReader reader(file, TokenType::kUInt8, largest_vocabulary(TokenType::kUInt8));
  for (std::span<const std::byte> marks = reader.next(); !marks.empty(); marks = reader.next()) writer.append(marks);
  manifest.sources.push_back({path.string(), file.file_bytes, reader.checksum(), {split}, true});
}

}  // namespace

std::filesystem::path marks_of_source(const std::filesystem::path& file) { return file.string() + ".marks"; }

void check_mark_options(const PrepareOptions& options) {
  const std::string_view key = options.marks ? "--marks" : "--example-tokens";
  if (!options.marks && !options.example_tokens) return;
  if (options.format == SourceFormat::kText) throw UsageError("{}: expected ready-made tokens, found text", key);
  if (!options.input.empty()) throw UsageError("{}: expected files per split, found --input to cut", key);
  if (options.has_separator()) throw UsageError("{}: expected tokens as they are, found --separator", key);
  for (const auto* files : {&options.train, &options.valid, &options.test})
    for (const std::filesystem::path& file : *files)
      if (options.marks && file == kStandardInput)
        throw UsageError("--marks: expected files, found standard input, beside which there are none");
}

void add_source_marks(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                      const std::filesystem::path& directory, DatasetManifest& manifest) {
  for (size_t i = 0; i < corpora.size(); ++i) {
    SplitInfo& split = manifest.splits[i];
    if (options.marks) {
      SplitWriter writer(directory, name_of_marks(split.name),
                         {TokenType::kUInt8, options.shard_tokens, static_cast<int>(options.compression)});
      for (const SourceFile& file : corpora[i].files)
        append_marks(file, options, directory, writer, manifest, split.name);
      split.marks = writer.finish_row();
    }
    if (!options.example_tokens) continue;
    const int64_t tokens = *options.example_tokens;
    if (split.tokens % tokens != 0)
      throw DataError("split \"{}\": expected a whole number of examples of {} tokens, found {} tokens", split.name,
                      tokens, split.tokens);
    split.examples = {{.count = split.tokens / tokens, .tokens = tokens}};
  }
}

}  // namespace segue
