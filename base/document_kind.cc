// A document is told by a key that no other kind has.
#include "base/document_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/directory_content.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stated_length.h"
#include "base/text.h"

namespace segue {

namespace {

struct KindWords {
  std::string_view name;    // as what is expected
  std::string_view reader;  // that follows it where it is found
};

KindWords words_of(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kUnknown:
      return {"", ""};
    case DocumentKind::kTrainingConfig:
      return {"a training config", ", which segue train reads"};
    case DocumentKind::kComparison:
      return {"a comparison", ", which segue compare reads"};
    case DocumentKind::kTask:
      return {"a task", ", which segue tasks reads"};
    case DocumentKind::kEvaluationSettings:
      return {"settings of an evaluation", ", which segue eval --config reads"};
    case DocumentKind::kDataset:
      return {"a dataset", ", which segue train (data.path) and segue eval (--data) read"};
    case DocumentKind::kCheckpoint:
      return {"a checkpoint", ", which segue eval, segue generate and segue inspect read"};
    case DocumentKind::kTransformersConfig:
      return {"the config of a model of Hugging Face's transformers", ", whose weights segue import may read"};
    case DocumentKind::kTokenizer:
      return {"a tokenizer", ", which segue prepare reads as --tokenizer"};
  }
  throw ContractError("a document of kind {}", static_cast<int>(kind));
}

bool has_object(const Json& document, const char* key) {
  const auto member = document.find(key);
  return member != document.end() && member->is_object();
}

bool has_text(const Json& document, const char* key) {
  const auto member = document.find(key);
  return member != document.end() && member->is_string();
}

bool is_text(const Json& document, const char* key, std::string_view text) {
  return has_text(document, key) && document[key].get_ref<const std::string&>() == text;
}

// Whether an object or a list may begin here.
bool begins_as_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the parser's to judge
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

// What a file that is no document of Segue looks like.
std::string_view look_of(std::string_view beginning) {
  using namespace std::string_view_literals;
  if (beginning.empty()) return "an empty file";
  if (begins_as_json(beginning)) return "JSON that no command knows";
  if (beginning.starts_with("\x89HDF\r\n\x1a\n"sv)) return kHdf5File;
  if (beginning.starts_with("PK\x03\x04"sv)) return "a zip archive or a PyTorch file";
  if (beginning.size() > 8 && beginning[8] == '{' && beginning[7] == '\0')
    return "weights (safetensors), which segue import reads";
  const bool is_text = std::ranges::none_of(beginning, [](char c) {
    return static_cast<unsigned char>(c) < ' ' && std::string_view("\n\r\t\f\x1b").find(c) == std::string_view::npos;
  });
  return is_text ? "text, which segue prepare reads" : "a file of another format";
}

// Of a directory that is of no kind: the runs in it, or some of its files.
std::string files_in(const std::filesystem::path& directory) {
  for (const std::string& name : names_in(directory)) {
    const std::filesystem::path inner = directory / name;
    const std::vector<DirectoryKind> kinds = kinds_in(inner);
    if (std::ranges::find(kinds, DirectoryKind::kRun) != kinds.end())
      return fmt::format("a directory of runs, such as {}", shell_word(inner.string()));
  }
  const std::string found = describe_content(directory);
  if (found == kNoFiles) return "an empty directory";
  return found.starts_with("other files") ? "a directory of " + found : found;
}

std::string described(DocumentKind kind) {
  const KindWords words = words_of(kind);
  return fmt::format("{}{}", words.name, words.reader);
}

}  // namespace

DocumentKind kind_of(const Json& document) {
  if (!document.is_object()) return DocumentKind::kUnknown;
  if (is_text(document, "format", "segue-dataset")) return DocumentKind::kDataset;
  if (is_text(document, "format", "segue-checkpoint")) return DocumentKind::kCheckpoint;
  if (document.contains("variants")) return DocumentKind::kComparison;
  if (document.contains("pre_tokenizer") || document.contains("added_tokens")) return DocumentKind::kTokenizer;
  if (document.contains("architectures") || has_text(document, "model_type")) return DocumentKind::kTransformersConfig;
  for (const char* group : {"model", "training", "optimizer", "schedule"})
    if (has_object(document, group)) return DocumentKind::kTrainingConfig;
  if (document.contains("splits") && has_text(document, "kind")) return DocumentKind::kTask;
  if (has_text(document, "checkpoint") || document.contains("warm_up")) return DocumentKind::kEvaluationSettings;
  return DocumentKind::kUnknown;
}

void check_document_kind(const Json& document, std::string_view source, DocumentKind expected, RaiseError raise) {
  const DocumentKind found = kind_of(document);
  if (found == DocumentKind::kUnknown || found == expected) return;
  raise(fmt::format("{}: expected {}, found {}", source, words_of(expected).name, described(found)));
}

DocumentKind kind_of_file(const std::filesystem::path& path) {
  constexpr int64_t kLargest = int64_t{16} << 20;
  try {
    return kind_of(parse_json<DataError>(read_file(path, kLargest), path.string()));
  } catch (const Error&) {
    return DocumentKind::kUnknown;
  }
}

std::string describe_path(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    const std::string beginning = beginning_of(path);
    const DocumentKind kind = begins_as_json(beginning) ? kind_of_file(path) : DocumentKind::kUnknown;
    if (kind != DocumentKind::kUnknown) return described(kind);
    return std::string(look_of(beginning)) + describe_cut(path);
  }
  if (!fs::is_directory(path, error)) return path_exists(path) ? "no regular file" : "";
  const std::vector<DirectoryKind> kinds = kinds_in(path);
  const auto has = [&](DirectoryKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  if (has(DirectoryKind::kDataset)) return described(DocumentKind::kDataset);
  if (has(DirectoryKind::kCheckpoint)) return described(DocumentKind::kCheckpoint);
  if (has(DirectoryKind::kRun)) return "a run, which segue report, segue eval and others read";
  if (has(DirectoryKind::kComparison))
    return fmt::format("a comparison, whose runs are {}/*", shell_word((path / "runs").string()));
  if (has(DirectoryKind::kEvaluation)) return "an evaluation, which segue report reads with its run";
  const DocumentKind of_config = kind_of_file(path / "config.json");
  return of_config == DocumentKind::kUnknown ? files_in(path) : described(of_config);
}

namespace {

// What may have been meant by a relative path at which nothing is: the same seen from a directory above the program,
// such as a checkout's, or else from where it is seen now.
std::string meant_elsewhere(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  if (path.is_absolute()) return {};
  std::error_code error;
  fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (; above.has_relative_path(); above = above.parent_path())
    for (const fs::path& root : {above, above / "share/doc/segue", above / "share/segue"})
      if (path_exists(root / path)) return did_you_mean(shell_word((root / path).string()));
  return fmt::format("; the path is seen from {}", shell_word(fs::current_path(error).string()));
}

}  // namespace

std::string read_document(const std::filesystem::path& path, DocumentKind expected, int64_t most_bytes,
                          RaiseError raise) {
  const auto refuse = [&](std::string_view found) {
    raise(fmt::format("{}: expected {}, found {}", path.string(), words_of(expected).name, found));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse(describe_path(path));
  if (std::filesystem::is_regular_file(path, error)) {
    const std::string beginning = beginning_of(path);
    refuse_git_lfs_pointer(beginning, path.string());
    if (!begins_as_json(beginning)) refuse(std::string(look_of(beginning)) + describe_cut(path));
  }
  if (!path_exists(path)) throw FileError("{}: there is no such file{}", path.string(), meant_elsewhere(path));
  return read_file(path, most_bytes);
}

}  // namespace segue
