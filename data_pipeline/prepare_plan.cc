#include "data_pipeline/prepare_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data_pipeline/separator.h"

namespace segue {
namespace {

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 3> kSplitNames{"train", "valid", "test"};

void check_files_given(const PrepareOptions& options) {
  const bool by_files = !options.train.empty() || !options.valid.empty() || !options.test.empty();
  if (by_files && !options.input.empty())
    throw UsageError("--input and --train: expected either files to cut or files per split, found both");
  if (by_files && options.fractions != PrepareOptions{}.fractions)
    throw UsageError("--split: expected --input to cut, found files per split");
  if (by_files && options.train.empty())
    throw UsageError("--train: expected files of it beside --valid and --test, found none");
  if (!by_files && options.input.empty())
    throw UsageError("prepare: expected files, as in: segue prepare book.txt --output data/book; found none");
}

void check_fractions(const std::vector<double>& fractions) {
  // Fractions are typed in decimals, whose sum in binary is not exactly 1.
  constexpr double kSlack = 1e-6;
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  const bool positive = std::all_of(fractions.begin(), fractions.end(), [](double f) { return f > 0.0; });
  const bool are_sizes = std::all_of(fractions.begin(), fractions.end(), [](double f) { return std::rint(f) == f; });
  if (fractions.empty() || fractions.size() > kSplitNames.size() || !positive ||
      !(std::abs(sum - 1.0) < kSlack || are_sizes))
    throw UsageError("--split: expected 1 to {} positive numbers with sum 1, or whole sizes, found {}",
                     kSplitNames.size(), fmt::join(fractions, ","));
}

bool are_shares(const std::vector<double>& fractions) {
  return std::accumulate(fractions.begin(), fractions.end(), 0.0) < 1.5;
}

void check_numbers(const PrepareOptions& options) {
  const bool text = options.format == SourceFormat::kText;
  const int64_t largest = text ? kLargestVocabulary : largest_vocabulary(source_type_of(options.format));
  if (options.vocabulary && *options.vocabulary > largest)
    throw UsageError("--vocab-size: expected 1 to {}, found {}", largest, *options.vocabulary);
}

// Standard input is read once, and lines of JSON are no bytes to be taken as they are.
void check_wrapping(const PrepareOptions& options) {
  int64_t inputs = 0;
  for (const auto* files : {&options.train, &options.valid, &options.test, &options.input})
    inputs += std::count(files->begin(), files->end(), kStandardInput);
  if (options.tokenizer.vocabulary_file == kStandardInput) ++inputs;
  if (inputs > 1) throw UsageError("files: expected standard input (-) once, found it {} times", inputs);
  if (!options.field.empty() && options.as_is)
    throw UsageError("--field: expected lines of JSON, found --as-is, which takes files as they are");
}

// Where the splits end. The last one ends with the corpus, however the shares round.
std::vector<PlannedSplit> cut(int64_t tokens, Names names, const std::vector<double>& fractions) {
  const double whole = are_shares(fractions) ? static_cast<double>(tokens) : 1.0;
  std::vector<PlannedSplit> splits;
  double share = 0.0;
  int64_t begin = 0;
  for (size_t i = 0; i < fractions.size(); ++i) {
    share += fractions[i];
    const bool last = i + 1 == fractions.size();
    const int64_t end = last ? tokens : std::llround(share * whole);
    splits.push_back({std::string(names[i]), begin, std::min(end, tokens)});
    begin = splits.back().end;
  }
  return splits;
}

void check_sizes(const std::vector<double>& fractions, int64_t tokens) {
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  if (!are_shares(fractions) && sum != static_cast<double>(tokens))
    throw DataError(
        "--split: expected shares with a sum of 1, such as 0.9,0.05,0.05, or sizes with a sum of {}, that of the "
        "input, found a "
        "sum of {}",
        tokens, sum);
}

void check_split_sizes(const Corpus& corpus, int64_t tokens) {
  const std::string first = corpus.files.front().path.string();
  const auto others = std::ssize(corpus.files) - 1;
  for (const PlannedSplit& split : corpus.splits)
    if (split.end - split.begin < kSmallestSplit)
      throw DataError("{}{}: split \"{}\": expected at least {} tokens, found {} of {}; give more text{}", first,
                      others > 0 ? fmt::format(" and {}", counted(others, "other file")) : "", split.name,
                      kSmallestSplit, split.end - split.begin, tokens,
                      corpus.splits.size() > 1 ? ", or a larger share with --split" : "");
}

// A name with spaces that a shell took for several files.
std::string unquoted_name(const std::vector<std::filesystem::path>& paths, size_t missing) {
  for (size_t begin = 0; begin <= missing; ++begin) {
    std::string name = paths[begin].string();
    for (size_t end = begin + 1; end < paths.size(); ++end) {
      name += fmt::format(" {}", paths[end].string());
      if (end >= missing && path_exists(name)) return name;
    }
  }
  return {};
}

void check_quotes(const std::vector<std::filesystem::path>& paths) {
  constexpr size_t kMostWords = 100;  // of lists that people type
  for (size_t i = 0; i < paths.size() && paths.size() <= kMostWords; ++i) {
    if (paths[i] == kStandardInput || path_exists(paths[i])) continue;
    if (const std::string name = unquoted_name(paths, i); !name.empty())
      throw DataError("{}: there is no such file; did you mean {}, in quotes?", paths[i].string(), shell_word(name));
  }
}

void plan_corpus(Corpus& corpus, Names names, const std::vector<double>& fractions, const PrepareOptions& options) {
  const TokenType type = source_type_of(options.format);
  const int64_t token_bytes = bytes_of(type);
  int64_t bytes = 0;
  for (SourceFile& file : corpus.files) {
    if (!file.is_text()) settle_tokens(file, type, options.separator);
    file.has_texts =
        file.is_text() && !file.field.empty() && encodes_whole_texts(options.tokenizer.kind) && !file.text_separator;
    bytes += file.bytes;
  }
  int64_t separator_tokens = options.has_separator() ? 1 : 0;
  if (options.format == SourceFormat::kText) separator_tokens = std::ssize(separator_of_text(options).value_or(""));
  const int64_t tokens = bytes / token_bytes + separator_tokens * (std::ssize(corpus.files) - 1);
  check_sizes(fractions, tokens);
  corpus.splits = cut(tokens, names, fractions);
  check_split_sizes(corpus, tokens);
  for (PlannedSplit& split : corpus.splits) split = {split.name, split.begin * token_bytes, split.end * token_bytes};
}

}  // namespace

void check_source_options(const PrepareOptions& options) {
  check_files_given(options);
  check_wrapping(options);
  if (!options.input.empty()) check_fractions(options.fractions);
}

void check_options_of_format(const PrepareOptions& options) {
  check_numbers(options);
  check_separator(options);
}

std::vector<Corpus> find_sources(const PrepareOptions& options, const std::filesystem::path& directory) {
  std::vector<Corpus> corpora;
  for (const auto* paths : {&options.input, &options.train, &options.valid, &options.test}) {
    if (paths->empty()) continue;
    check_quotes(*paths);
    Corpus& corpus = corpora.emplace_back();
    for (const std::filesystem::path& path : *paths) corpus.files.push_back(inspect_source(path, options, directory));
  }
  return corpora;
}

SourceFormat format_of(const std::vector<Corpus>& corpora, const PrepareOptions& options) {
  const SourceFile& first = corpora.front().files.front();
  const auto kind = [](const SourceFile& file) { return file.is_text() ? "text" : "tokens"; };
  TokenType type = TokenType::kUInt16;
  for (const Corpus& corpus : corpora)
    for (const SourceFile& file : corpus.files) {
      if (file.is_text() != first.is_text())
        throw DataError("{}: expected {}, as in {}, found {}", file.path.string(), kind(first), first.path.string(),
                        kind(file));
      if (!file.is_text()) type = std::max(type, type_of_tokens(file));
    }
  if (first.is_text()) return SourceFormat::kText;
  const int64_t narrow = largest_vocabulary(TokenType::kUInt16);
  if (options.separator && *options.separator >= narrow) type = TokenType::kUInt32;
  if (options.vocabulary && *options.vocabulary <= narrow) type = TokenType::kUInt16;
  return type == TokenType::kUInt16 ? SourceFormat::kUInt16 : SourceFormat::kUInt32;
}

void plan_splits(const PrepareOptions& options, std::vector<Corpus>& corpora) {
  if (!options.input.empty()) return plan_corpus(corpora.front(), kSplitNames, options.fractions, options);
  size_t next = 0;
  const std::array files{&options.train, &options.valid, &options.test};
  for (size_t i = 0; i < files.size(); ++i)
    if (!files.at(i)->empty()) plan_corpus(corpora.at(next++), Names(kSplitNames).subspan(i, 1), {1.0}, options);
}

}  // namespace segue
