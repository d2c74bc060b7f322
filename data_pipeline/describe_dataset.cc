#include "data_pipeline/describe_dataset.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/text.h"

namespace segue {
namespace {

int64_t bytes_on_disk(const Dataset& dataset, const SplitInfo& split) {
  int64_t bytes = 0;
  for (const ShardInfo& shard : split.shards)
    bytes += static_cast<int64_t>(std::filesystem::file_size(dataset.directory() / shard.file));
  return bytes;
}

// "from 240,000 bytes of text, 0.2512 tokens per byte, 1.20 % unknown"
std::string describe_text(const SplitInfo& split, const TokenizerInfo& tokenizer) {
  if (split.bytes == 0) return "";
  std::string text = fmt::format("  from {} bytes of text, {:.4f} tokens per byte", human_count(split.bytes),
                                 static_cast<double>(split.tokens) / static_cast<double>(split.bytes));
  if (tokenizer.unknown_token >= 0)
    text += fmt::format(", {:.4f} % unknown ({})",
                        100.0 * static_cast<double>(split.unknown) / static_cast<double>(split.tokens),
                        human_count(split.unknown));
  return text + "\n";
}

// The split's first tokens as text; what is longer than a character stands apart by "|".
std::string describe_beginning(const Dataset& dataset, const SplitInfo& split, const Tokenizer& tokenizer) {
  const bool characters = !has_long_tokens(tokenizer.info().kind);
  std::vector<int32_t> tokens(static_cast<size_t>(std::min(split.tokens, int64_t{characters ? 80 : 20})));
  dataset.split(split.name).read(0, tokens);
  std::string text;
  for (const int32_t token : tokens) {
    if (!text.empty() && !characters) text += '|';
    text += tokenizer.decode({&token, 1});
  }
  return fmt::format("  begins {}\n", Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

// "  1,000 examples of 65 tokens, items 4"
std::string describe_run(const ExampleRun& run) {
  std::string text = fmt::format("  {} of {}", counted(run.count, "example"), counted(run.tokens, "token"));
  for (const ExampleTrait& trait : run.traits) text += fmt::format(", {} {}", visible_line(trait.name), trait.value);
  return text + "\n";
}

// "4,000 of 65,000 tokens, in 4,000 answers,"
std::string describe_scored(const Dataset& dataset, const SplitInfo& split) {
  constexpr int64_t kBlock = 1 << 16;
  TokenSource source = dataset.split(split.name);
  std::vector<TokenMark> marks;
  int64_t scored = 0;
  int64_t answers = 0;
  for (int64_t begin = 0; begin < split.tokens; begin += kBlock) {
    marks.resize(static_cast<size_t>(std::min(kBlock, split.tokens - begin)));
    source.read_marks(begin, marks);
    for (const TokenMark& mark : marks) {
      scored += mark.is_scored() ? 1 : 0;
      answers += mark.is_scored() && !mark.continues() ? 1 : 0;
    }
  }
  return fmt::format("{} of {}, in {},", human_count(scored), counted(split.tokens, "token"),
                     counted(answers, "answer"));
}

std::string describe_split(const Dataset& dataset, const SplitInfo& split, const Tokenizer* tokenizer) {
  std::string text =
      fmt::format("split {}: {} in {}, {} on disk\n", split.name, counted(split.tokens, "token"),
                  counted(std::ssize(split.shards), "shard"), human_bytes(bytes_on_disk(dataset, split)));
  text += describe_text(split, dataset.manifest().tokenizer);
  if (split.examples)
    for (const ExampleRun& run : *split.examples) text += describe_run(run);
  if (split.marks) text += fmt::format("  {} scored\n", describe_scored(dataset, split));
  if (tokenizer != nullptr) text += describe_beginning(dataset, split, *tokenizer);
  for (const ShardInfo& shard : split.shards)
    text += fmt::format("  {}  {}  {}\n", shard.file, counted(shard.tokens, "token"), shard.checksum);
  return text;
}

// The tokens that mean something of their own, and where the vocabulary is kept.
std::string describe_tokenizer(const TokenizerInfo& info, const Tokenizer* tokenizer) {
  std::string text;
  if (!file_of(info.kind).empty()) text += fmt::format("vocabulary in {}, {}\n", file_of(info.kind), info.checksum);
  if (has_symbols(info.kind)) text += fmt::format("symbols: {}\n", info.checksum);
  if (info.line_mark_token >= 0)
    text += fmt::format("lines marked: {}, by token {}\n", name_of_choice(info.line_marks), info.line_mark_token);
  if (info.unknown_token >= 0 && tokenizer != nullptr)
    text += fmt::format("unknown: token {}, \"{}\"\n", info.unknown_token,
                        visible_line(tokenizer->decode({std::vector{static_cast<int32_t>(info.unknown_token)}})));
  return text;
}

std::string describe_source(const SourceInfo& source) {
  return fmt::format("source {}: {}, {}, in {}\n", visible_line(source.file), human_bytes(source.bytes),
                     source.checksum, visible_line(fmt::format("{}", fmt::join(source.splits, ", "))));
}

}  // namespace

std::string describe(const Dataset& dataset) {
  const DatasetManifest& manifest = dataset.manifest();
  std::string text = fmt::format("dataset {}\n", visible_line(dataset.directory().string()));
  text += fmt::format("tokens: {}, {}, vocabulary {}\n", name_of_choice(manifest.tokenizer.kind),
                      name_of(manifest.token_type), human_count(manifest.tokenizer.vocabulary));
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  text += describe_tokenizer(manifest.tokenizer, tokenizer.get());
  if (manifest.separator >= 0) text += fmt::format("separator between sources: {}\n", manifest.separator);
  if (manifest.separator_text)
    text += fmt::format("separator between sources: \"{}\"\n", visible_line(*manifest.separator_text));
  for (const SplitInfo& split : manifest.splits) text += describe_split(dataset, split, tokenizer.get());
  for (const SourceInfo& source : manifest.sources) text += describe_source(source);
  if (manifest.task) text += fmt::format("task: {}\n", visible_line(*manifest.task));
  if (!manifest.command.empty()) text += fmt::format("made by: {}\n", visible_line(manifest.command));
  return text;
}

std::string describe_unknown(const SplitInfo& split) {
  if (split.unknown == 0) return "";
  return fmt::format("{:.3g} % of its tokens are unknown, and the loss does not count what they stand for",
                     100.0 * static_cast<double>(split.unknown) / static_cast<double>(split.tokens));
}

void warn_of_unknown(const Dataset& dataset, const std::string& split, Logger& logger) {
  const std::string unknown = describe_unknown(dataset.split_info(split));
  if (!unknown.empty()) logger.warn("{}: split \"{}\": {}", dataset.directory().string(), split, unknown);
}

}  // namespace segue
