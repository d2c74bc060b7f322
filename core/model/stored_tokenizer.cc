// tokenizer.json, the file beside it, and the comparison with a dataset's.
#include "core/model/stored_tokenizer.h"

#include <functional>

#include "base/error.h"
#include "base/text.h"

namespace segue {

namespace {

// A checkpoint of an earlier version names the kind only.
std::optional<TokenizerKind> stored_kind(const StoredModel& stored) {
  for (size_t i = 0; i < choices_of(TokenizerKind{}).size(); ++i)
    if (stored.tokenizer == choices_of(TokenizerKind{})[i]) return static_cast<TokenizerKind>(i);
  return std::nullopt;
}

// Whether both are known, and differ.
bool differ(const std::optional<TokenizerInfo>& info, const std::optional<TokenizerKind>& kind,
            const TokenizerInfo& found) {
  if (found.kind == TokenizerKind::kReadyMade || !kind || *kind == TokenizerKind::kReadyMade) return false;
  return info ? *info != found : *kind != found.kind;
}

std::vector<TextFile> files_of(const TokenizerInfo& info, const std::function<std::string()>& file_text) {
  std::vector<TextFile> files{{kTokenizerFile, write_fields(info).dump(2) + "\n"}};
  if (!file_of(info.kind).empty()) files.push_back({std::string(file_of(info.kind)), file_text()});
  return files;
}

}  // namespace

std::vector<TextFile> tokenizer_files(const Dataset& dataset) {
  const TokenizerInfo& info = dataset.manifest().tokenizer;
  if (info.kind == TokenizerKind::kReadyMade) return {};
  return files_of(info, [&] { return dataset.tokenizer_file(); });
}

std::vector<TextFile> tokenizer_files(const Tokenizer& tokenizer) {
  return files_of(tokenizer.info(), [&] { return tokenizer.file_text(); });
}

std::optional<TokenizerInfo> read_tokenizer_info(const Checkpoint& checkpoint) {
  if (!checkpoint.contains(kTokenizerFile)) return std::nullopt;
  const std::string source = (checkpoint.directory() / kTokenizerFile).string();
  auto info = checkpoint.read<TokenizerInfo>(kTokenizerFile);
  if (const auto complaint = first_complaint(info))
    throw CheckpointError("{}: {}: expected {}, found {}", source, complaint->path, complaint->expected,
                          complaint->found);
  return info;
}

std::unique_ptr<Tokenizer> read_tokenizer(const Checkpoint& checkpoint) {
  const std::optional<TokenizerInfo> info = read_tokenizer_info(checkpoint);
  if (!info) return nullptr;
  const std::string name(file_of(info->kind));
  return load_tokenizer(*info, name.empty() ? "" : checkpoint.text(name), (checkpoint.directory() / name).string());
}

void check_tokenizer(const Checkpoint& checkpoint, const Dataset& dataset) {
  const StoredModel stored = read_model(checkpoint);
  const std::optional<TokenizerInfo> info = read_tokenizer_info(checkpoint);
  const std::optional<TokenizerKind> kind = info ? info->kind : stored_kind(stored);
  const TokenizerInfo& found = dataset.manifest().tokenizer;
  if (stored.vocab_size == found.vocabulary && !differ(info, kind, found)) return;
  const std::string expected =
      info ? describe(*info)
           : fmt::format("{}, vocabulary {}", kind ? name_of_choice(*kind) : "unknown", human_count(stored.vocab_size));
  throw DataError("{}: expected the tokenizer that {} was trained with, {}; found {}; prepare the text with that one",
                  dataset.directory().string(), checkpoint.directory().string(), expected, describe(found));
}

}  // namespace segue
