// A document is told by a key that no other kind has.
#include "base/document_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
    case DocumentKind::kEvaluation:
      return {"the result of an evaluation", ", which segue report reads with its run"};
    case DocumentKind::kPairedDifference:
      return {"the result of segue paired-difference", ""};
    case DocumentKind::kEffectiveContext:
      return {"the result of segue effective-context", ", which segue report reads"};
    case DocumentKind::kComparisonResult:
      return {"the result of segue compare", ""};
    case DocumentKind::kInspection:
      return {"what segue inspect has printed", ""};
    case DocumentKind::kGeneration:
      return {"the result of segue generate", ""};
    case DocumentKind::kBenchmark:
      return {"the result of segue bench", ""};
    case DocumentKind::kModelArguments:
      return {"arguments of a model", ", which segue import reads as --args"};
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

// What `format` says in documents that Segue writes.
struct FormatName {
  std::string_view format;
  DocumentKind kind;
};
constexpr std::array kFormats{FormatName{"segue-dataset", DocumentKind::kDataset},
                              FormatName{"segue-checkpoint", DocumentKind::kCheckpoint},
                              FormatName{"segue-evaluation", DocumentKind::kEvaluation},
                              FormatName{"segue-paired-difference", DocumentKind::kPairedDifference},
                              FormatName{"segue-effective-context", DocumentKind::kEffectiveContext},
                              FormatName{"segue-comparison", DocumentKind::kComparisonResult},
                              FormatName{"segue-comparison-plan", DocumentKind::kComparisonResult},
                              FormatName{"segue-inspection", DocumentKind::kInspection}};

bool has_object(const Json& document, const char* key) {
  const auto member = document.find(key);
  return member != document.end() && member->is_object();
}

bool has_text(const Json& document, const char* key) {
  const auto member = document.find(key);
  return member != document.end() && member->is_string();
}

// Whether an object or a list may begin here.
bool begins_as_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the parser's to judge
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
  return first + 1 == text.size() || text[first + 1] != '\0';  // as UTF-16 goes on
}

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view look;
};
constexpr std::array kSignatures{
    Signature{"\x89HDF\r\n\x1a\n"sv, kHdf5File},
    Signature{"PK\x03\x04"sv, "a zip archive or a PyTorch file"sv},
    Signature{"\x89PNG\r\n\x1a\n"sv, "a picture"sv},
    Signature{"\xff\xd8\xff"sv, "a picture"sv},
    Signature{"GIF8"sv, "a picture"sv},
    Signature{"%PDF-"sv, "a PDF file"sv},
    Signature{"\x1f\x8b"sv, "a file compressed by gzip: decompress it first"sv},
    Signature{"\x28\xb5\x2f\xfd"sv, "a file compressed by zstd: decompress it first"sv},
    Signature{"\xfd\x37zXZ"sv, "a file compressed by xz: decompress it first"sv},
    Signature{"BZh"sv, "a file compressed by bzip2: decompress it first"sv},
    Signature{"\xff\xfe\0\0"sv, "UTF-32 text: iconv -f UTF-32 -t UTF-8 makes UTF-8 of it"sv},
    Signature{"\0\0\xfe\xff"sv, "UTF-32 text: iconv -f UTF-32 -t UTF-8 makes UTF-8 of it"sv},
    Signature{"\xff\xfe"sv, "UTF-16 text: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"sv},
    Signature{"\xfe\xff"sv, "UTF-16 text: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"sv},
    Signature{"\x93NUMPY"sv, "a NumPy array"sv},
    Signature{"\x7f\x45LF"sv, "a program"sv}};

// Whether every second byte of some is zero, from this one on, and the others are no control characters.
bool alternates_with_zeros(std::string_view beginning, size_t first_zero) {
  constexpr size_t kFewest = 8;
  if (beginning.size() < kFewest) return false;
  for (size_t at = 0; at + 1 < beginning.size(); at += 2) {
    const auto letter = static_cast<unsigned char>(beginning[at + 1 - first_zero]);
    if (beginning[at + first_zero] != '\0' || (letter < ' ' && letter != '\n' && letter != '\r' && letter != '\t'))
      return false;
  }
  return true;
}

bool is_safetensors(std::string_view beginning) {
  return beginning.size() > 8 && beginning[8] == '{' && beginning[7] == '\0';
}

// Whether JSON seems to follow a comment.
bool begins_with_comment(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const bool is_comment = text.starts_with("//") || text.starts_with("/*") || text.starts_with('#');
  const size_t object = text.find('{');
  return is_comment && object != std::string_view::npos && text.find("\":", object) != std::string_view::npos;
}

// What a file that is no document of Segue looks like.
std::string_view look_of(std::string_view beginning) {
  if (beginning.empty()) return "an empty file";
  if (begins_with_comment(beginning)) return "JSON that begins with a comment, which JSON does not have: leave it out";
  if (begins_as_json(beginning)) return "JSON that no command knows";
  for (const Signature& signature : kSignatures)
    if (beginning.starts_with(signature.bytes)) return signature.look;
  if (is_safetensors(beginning))
    return beginning.find(R"("format":"segue")") == std::string_view::npos
               ? "weights (safetensors), which segue import reads"
               : "weights of a checkpoint, without the rest of it";
  if (alternates_with_zeros(beginning, 1)) return "UTF-16 text: iconv -f UTF-16LE -t UTF-8 makes UTF-8 of it";
  if (alternates_with_zeros(beginning, 0)) return "UTF-16 text: iconv -f UTF-16BE -t UTF-8 makes UTF-8 of it";
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
  std::string datasets;
  for (const std::string& name : names_in(directory)) {
    constexpr size_t kEnough = 80;
    if (datasets.size() > kEnough) break;
    const std::vector<DirectoryKind> kinds = kinds_in(directory / name);
    if (std::ranges::find(kinds, DirectoryKind::kDataset) != kinds.end())
      datasets += fmt::format("{}{}", datasets.empty() ? "" : ", ", shell_word((directory / name).string()));
  }
  if (!datasets.empty()) return fmt::format("a directory of datasets: {}", datasets);
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
  if (has_text(document, "format")) {
    const auto* const named =
        std::ranges::find(kFormats, document["format"].get_ref<const std::string&>(), &FormatName::format);
    if (named != kFormats.end()) return named->kind;
  }
  if (document.contains("variants")) return DocumentKind::kComparison;
  if (document.contains("pre_tokenizer") || document.contains("added_tokens")) return DocumentKind::kTokenizer;
  if (document.contains("architectures") || has_text(document, "model_type")) return DocumentKind::kTransformersConfig;
  for (const char* group : {"model", "training", "optimizer", "schedule"})
    if (has_object(document, group)) return DocumentKind::kTrainingConfig;
  const auto has_all = [&document](std::initializer_list<const char*> keys) {
    return std::ranges::all_of(keys, [&](const char* key) { return document.contains(key); });
  };
  if (has_all({"checkpoint", "prompt", "tokens_per_second"})) return DocumentKind::kGeneration;
  if (has_all({"setting", "measurements"})) return DocumentKind::kBenchmark;
  if (has_all({"n_token", "n_layer", "d_model"})) return DocumentKind::kModelArguments;
  if (document.contains("splits") && has_text(document, "kind")) return DocumentKind::kTask;
  if (has_text(document, "checkpoint") || document.contains("warm_up")) return DocumentKind::kEvaluationSettings;
  return DocumentKind::kUnknown;
}

void check_document_kind(const Json& document, std::string_view source, DocumentKind expected, RaiseError raise) {
  const DocumentKind found = kind_of(document);
  if (found == DocumentKind::kUnknown || found == expected) return;
  raise(fmt::format("{}: expected {}, found {}", source, words_of(expected).name, described(found)));
}

void check_not_newer(const Json& document, std::string_view source, int64_t read_version, RaiseError raise) {
  if (!document.is_object()) return;
  const auto version = document.find("version");
  if (version == document.end() || !version->is_number_integer() || version->get<int64_t>() <= read_version) return;
  raise(fmt::format("{}: expected version {} of the format, found {}: a newer Segue wrote it; use that one", source,
                    read_version, version->get<int64_t>()));
}

DocumentKind kind_of_file(const std::filesystem::path& path) {
  constexpr int64_t kLargest = int64_t{16} << 20;
  try {
    return kind_of(parse_json<DataError>(read_file(path, kLargest), path.string()));
  } catch (const Error&) {
    return DocumentKind::kUnknown;
  }
}

namespace {

bool is_shard(std::string_view name) {
  constexpr std::string_view kLikeShard = "-00000.h5";
  if (!name.ends_with(".h5") || name.size() <= kLikeShard.size()) return false;
  const std::string_view number = name.substr(name.size() - kLikeShard.size());
  return number.front() == '-' && number.substr(1, 5).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<Whole> whole_of_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  const std::string name = path.filename().string();
  const std::vector<DirectoryKind> kinds = kinds_in(directory);
  const auto is_in = [&](DirectoryKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  if (is_in(DirectoryKind::kCheckpoint)) return Whole{"a checkpoint", directory};
  if (is_in(DirectoryKind::kDataset) && (name == "manifest.json" || is_shard(name)))
    return Whole{"a dataset", directory};
  constexpr std::array kOfRuns{"config.json"sv, "metrics.jsonl"sv, "sessions.jsonl"sv, "report.html"sv};
  if (is_in(DirectoryKind::kRun) && std::ranges::find(kOfRuns, name) != kOfRuns.end()) return Whole{"a run", directory};
  return std::nullopt;
}

std::string describe_path(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (const auto whole = whole_of_file(path))
    return fmt::format("a file of {}, whose directory is {}", whole->kind, shell_word(whole->directory.string()));
  if (fs::is_regular_file(path, error)) {
    const std::string beginning = beginning_of(path);
    if (beginning.empty() && std::filesystem::file_size(path, error) > 0 && !error) return "a file that cannot be read";
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
    return fmt::format("the result of a comparison, whose runs are {}/*", shell_word((path / "runs").string()));
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
    const std::string beginning = read_beginning(path);
    refuse_git_lfs_pointer(beginning, path.string());
    if (!begins_as_json(beginning)) refuse(std::string(look_of(beginning)) + describe_cut(path));
  }
  if (!path_exists(path)) {
    const std::string hint = hint_at_missing(path);
    throw FileError("{}: there is no such file{}", path.string(), hint.empty() ? meant_elsewhere(path) : hint);
  }
  return read_file(path, most_bytes);
}

}  // namespace segue
