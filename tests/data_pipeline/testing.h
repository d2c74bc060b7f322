// Small datasets for the tests of the data pipeline.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/prepare.h"
#include "data_pipeline/split_writer.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {

inline std::filesystem::path write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::remove(path);  // truncating the old file instead would wait for the disk
  FileWriter(path).write(text);
  return path;
}

template <typename T>
std::filesystem::path write_tokens(const std::filesystem::path& path, const std::vector<T>& tokens) {
  FileWriter(path).write(std::as_bytes(std::span(tokens)));
  return path;
}

inline void prepare_silently(PrepareOptions options) {
  options.quiet = true;
  Logger logger("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  prepare(options, logger);
}

// A dataset whose only split, train, holds the tokens 0, 1, ..., tokens - 1: each token says where it lies.
inline std::filesystem::path prepare_positions(const TemporaryDirectory& directory, int64_t tokens,
                                               int64_t shard_tokens) {
  std::vector<uint16_t> positions(static_cast<size_t>(tokens));
  std::iota(positions.begin(), positions.end(), uint16_t{0});
  const auto source = write_tokens(directory / "positions.bin", positions);
  prepare_silently({.output = directory / "positions",
                    .train = {source},
                    .format = SourceFormat::kUInt16,
                    .shard_tokens = shard_tokens,
                    .force = true});
  return directory / "positions";
}

// A split of 16-bit tokens, each with a mark of a byte, or with none.
struct MarkedSplit {
  std::string name;
  std::vector<uint16_t> tokens;
  std::vector<uint8_t> marks = {};
  std::optional<std::vector<ExampleRun>> examples = {};
};

// Writes a dataset of ready-made tokens, in shards of at most `shard_tokens`; returns its directory.
inline std::filesystem::path write_marked(const std::filesystem::path& directory, int64_t vocabulary,
                                          const std::vector<MarkedSplit>& splits, int64_t shard_tokens = 1000) {
  std::filesystem::create_directories(directory);
  DatasetManifest manifest;
  manifest.tokenizer = {.kind = TokenizerKind::kReadyMade, .vocabulary = vocabulary};
  manifest.token_type = TokenType::kUInt16;
  for (const MarkedSplit& split : splits) {
    SplitWriter tokens(directory, split.name, {TokenType::kUInt16, shard_tokens, 0});
    tokens.append(std::as_bytes(std::span(split.tokens)));
    SplitInfo info = tokens.finish();
    if (!split.marks.empty()) {
      SplitWriter marks(directory, name_of_marks(split.name), {TokenType::kUInt8, shard_tokens, 0});
      marks.append(std::as_bytes(std::span(split.marks)));
      info.marks = RowInfo{.type = TokenType::kUInt8, .shards = marks.finish().shards};
    }
    info.examples = split.examples;
    manifest.splits.push_back(std::move(info));
  }
  write_file_atomically(directory / kManifestFile, dataset_manifest_text(manifest));
  return directory;
}

inline std::vector<int32_t> all_tokens(const std::filesystem::path& dataset, std::string_view split) {
  TokenSource source = Dataset(dataset).split(split);
  std::vector<int32_t> tokens(static_cast<size_t>(source.tokens()));
  source.read(0, tokens);
  return tokens;
}

// A split of byte tokens as the text it came from.
inline std::string all_text(const std::filesystem::path& dataset, std::string_view split) {
  const std::vector<int32_t> tokens = all_tokens(dataset, split);
  return {tokens.begin(), tokens.end()};
}

}  // namespace segue
