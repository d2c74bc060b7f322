#include "data_pipeline/tasks/task_dataset.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/progress.h"
#include "base/text.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/dataset_output.h"
#include "data_pipeline/split_writer.h"
#include "data_pipeline/staged_directory.h"
#include "data_pipeline/tasks/example_order.h"
#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

int64_t examples_of(const TaskSpec& spec) {
  int64_t examples = 0;
  for (const TaskSplit& split : spec.splits) examples += ExampleOrder(split).examples();
  return examples;
}

// Examples that follow one another and are alike. Those of a mixed split have all that they can have in common.
std::vector<ExampleRun> runs_of(const TaskSplit& split) {
  std::vector<ExampleRun> runs;
  for (size_t part = 0; part < split.parts.size(); ++part) {
    const int64_t items = split.parts[part].items;
    runs.push_back({split.parts[part].examples, padded_tokens(split, part), {{"items", items}}});
  }
  if (!split.is_mixed() || runs.size() == 1) return runs;
  ExampleRun all{.count = 0, .tokens = runs[0].tokens};
  for (const ExampleRun& run : runs) all.count += run.count;
  const bool alike = std::ranges::all_of(runs, [&](const ExampleRun& run) { return run.traits == runs[0].traits; });
  if (alike) all.traits = runs[0].traits;
  return {all};
}

int64_t tokens_of(const TaskSplit& split) {
  int64_t tokens = 0;
  for (const ExampleRun& run : runs_of(split)) tokens += run.count * run.tokens;
  return tokens;
}

// The distance of a mark is at most that of its example's ends.
TokenType type_of_marks(const TaskSplit& split) {
  int64_t longest = 0;
  for (const ExampleRun& run : runs_of(split)) longest = std::max(longest, run.tokens);
  return type_for(int64_t{TokenMark::further(longest).bits} + 1);
}

DatasetManifest manifest_of(const TaskSpec& spec, const Task& task, const TaskDatasetOptions& options) {
  DatasetManifest manifest;
  manifest.tokenizer = {.kind = TokenizerKind::kReadyMade, .vocabulary = spec.vocabulary};
  if (const Dataset* text = task.text(); text != nullptr) {
    manifest.tokenizer = text->manifest().tokenizer;
    const SplitInfo& split_info = text->split_info(spec.filler_split);
    SourceInfo source{.file = (text->directory() / spec.filler_split).string(),
                      .bytes = split_info.bytes > 0 ? split_info.bytes : split_info.tokens,
                      .checksum = text->checksum(spec.filler_split),
                      .splits = {}};
    for (const TaskSplit& split : spec.splits) source.splits.push_back(split.name);
    manifest.sources.push_back(std::move(source));
  }
  manifest.token_type = type_for(manifest.tokenizer.vocabulary);
  manifest.task = name_of_choice(spec.kind);
  manifest.command = options.command;
  return manifest;
}

// As far as it is known beforehand.
DatasetManifest planned_manifest(const TaskSpec& spec, const Task& task, const TaskDatasetOptions& options) {
  constexpr int64_t kTooManyShards = int64_t{1} << 20;
  DatasetManifest manifest = manifest_of(spec, task, options);
  for (const TaskSplit& split : spec.splits) {
    const int64_t shards = std::min(tokens_of(split) / options.shard_tokens + 1, kTooManyShards);
    const std::vector<ShardInfo> row(static_cast<size_t>(shards), {split.name + "-00000.h5", 1, checksum_of({})});
    manifest.splits.push_back({.name = split.name, .shards = row, .marks = RowInfo{.shards = row}});
    manifest.splits.back().examples = runs_of(split);
  }
  return manifest;
}

// The rows of shards of a split. `tokenizer`: of the text that examples are made of, where its tokens may stand for
// more than a byte, else null; a token of an example stands for what it adds to the example's text.
class TaskSplitWriter {
 public:
  TaskSplitWriter(const std::filesystem::path& directory, const TaskSplit& split, const ShardLayout& layout,
                  const Tokenizer* tokenizer)
      : tokenizer_(tokenizer),
        type_(layout.type),
        type_of_marks_(type_of_marks(split)),
        tokens_(directory, split.name, layout),
        marks_(directory, name_of_marks(split.name), {type_of_marks_, layout.shard_tokens, layout.compression}),
        of_bytes_(directory, name_of_token_bytes(split.name),
                  {TokenType::kUInt8, layout.shard_tokens, layout.compression}),
        runs_(runs_of(split)) {}

  void append(const TaskExample& example) {
    row_.assign(example.tokens.begin(), example.tokens.end());
    append(type_, tokens_);
    row_.clear();
    for (const TokenMark& mark : example.marks) row_.push_back(mark.bits);
    append(type_of_marks_, marks_);
    if (tokenizer_ != nullptr) append_bytes(example);
  }

  SplitInfo finish() {
    SplitInfo info = tokens_.finish();
    info.marks = marks_.finish_row();
    info.examples = std::move(runs_);
    if (tokenizer_ != nullptr) {
      info.token_bytes = of_bytes_.finish_row();
      info.bytes = text_bytes_;
    }
    return info;
  }

 private:
  void append_bytes(const TaskExample& example) {
    row_.clear();
    text_.clear();
    for (const int32_t token : example.tokens) {
      const size_t before = text_.size();
      tokenizer_->decode_onto(token, text_);
      row_.push_back(static_cast<uint32_t>(text_.size() - before));
    }
    text_bytes_ += std::ssize(text_);
    of_bytes_.append(row_);
  }

  void append(TokenType type, SplitWriter& writer) {
    bytes_.clear();
    narrow_into(row_, type, bytes_);
    writer.append(bytes_);
  }

  const Tokenizer* tokenizer_;
  TokenType type_;
  TokenType type_of_marks_;
  SplitWriter tokens_;
  SplitWriter marks_;
  SplitWriter of_bytes_;
  std::vector<ExampleRun> runs_;
  std::vector<uint32_t> row_ = {};
  std::vector<std::byte> bytes_ = {};
  std::string text_ = {};
  int64_t text_bytes_ = 0;
};

DatasetManifest write_splits(const TaskSpec& spec, const Task& task, const TaskDatasetOptions& options,
                             const std::filesystem::path& directory) {
  DatasetManifest manifest = manifest_of(spec, task, options);
  const ShardLayout layout{manifest.token_type, options.shard_tokens, static_cast<int>(options.compression)};
  const bool has_text = task.text() != nullptr && manifest.tokenizer.kind != TokenizerKind::kByte;
  const std::unique_ptr<Tokenizer> tokenizer = has_text ? task.text()->tokenizer() : nullptr;
  Progress progress("tasks", examples_of(spec), "k examples", 1000.0, options.quiet);
  int64_t done = 0;
  TaskExample example;
  for (size_t split = 0; split < spec.splits.size(); ++split) {
    TaskSplitWriter writer(directory, spec.splits[split], layout, tokenizer.get());
    for (ExampleOrder order(spec.splits[split]); order.next();) {
      make_example(task, spec, split, order.part(), order.number(), example);
      example.pad(padded_tokens(spec.splits[split], order.part()), task.filler());
      writer.append(example);
      progress.advance_to(++done);
    }
    manifest.splits.push_back(writer.finish());
  }
  progress.finish();
  return manifest;
}

std::string summary(const TaskSpec& spec, const DatasetManifest& manifest) {
  std::string text;
  for (size_t i = 0; i < spec.splits.size(); ++i)
    text += fmt::format("{}{} {} ({} tokens)", i == 0 ? "" : ", ", spec.splits[i].name,
                        human_count(ExampleOrder(spec.splits[i]).examples()), human_count(manifest.splits[i].tokens));
  return text;
}

}  // namespace

void write_task_dataset(const TaskSpec& spec, const std::string& source, const TaskDatasetOptions& options,
                        Logger& logger) {
  const std::unique_ptr<Task> task = make_task(spec, source);
  check_dataset_output(options.output, options.force);
  check_manifest_size(planned_manifest(spec, *task, options), (options.output / kManifestFile).string());
  StagedDirectory staged(options.output);
  const DatasetManifest manifest = write_splits(spec, *task, options, staged.path());
  if (const std::string_view file = file_of(manifest.tokenizer.kind); !file.empty())
    write_file_atomically(staged.path() / file, task->text()->tokenizer_file());
  write_file_atomically(staged.path() / kTaskFile, format_json(write_fields(spec)));
  write_file_atomically(staged.path() / kManifestFile, dataset_manifest_text(manifest));
  staged.commit();
  logger.info("{}: {} examples of {}", options.output.string(), summary(spec, manifest), name_of_choice(spec.kind));
}

}  // namespace segue
