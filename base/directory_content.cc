// A directory is told by the names in it, a file by its first bytes.
#include "base/directory_content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNamesRead = 10000;
constexpr size_t kLongestNameShown = 100;

std::string_view words_of_kind(DirectoryKind kind) {
  switch (kind) {
    case DirectoryKind::kRun:
      return "a run";
    case DirectoryKind::kCheckpoints:
      return "checkpoints of a run";
    case DirectoryKind::kCheckpoint:
      return "a checkpoint";
    case DirectoryKind::kDataset:
      return "a dataset";
    case DirectoryKind::kEvaluation:
      return "an evaluation";
    case DirectoryKind::kComparison:
      return "a comparison";
    case DirectoryKind::kOthersModel:
      return "a model of another program";
  }
  throw ContractError("a directory of kind {}", static_cast<int>(kind));
}

}  // namespace

std::string beginning_of(const fs::path& path) try {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? read_beginning(path) : "";
} catch (const FileError&) {
  return "";
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (names.size() < kMostNamesRead) names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<DirectoryKind> kinds_in(const fs::path& directory) {
  const std::vector<std::string> names = names_in(directory);
  const auto has = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  std::vector<DirectoryKind> kinds;
  const auto add = [&](bool is_there, DirectoryKind kind) {
    if (is_there) kinds.push_back(kind);
  };
  const bool is_run = has("config.json") && (has("checkpoints") || has("metrics.jsonl") || has("sessions.jsonl"));
  const std::string manifest = has("manifest.json") ? beginning_of(directory / "manifest.json") : "";
  const auto says = [&](const char* format) { return manifest.find(format) != std::string::npos; };
  const auto is_shard = [](const std::string& name) { return name.ends_with("-00000.h5"); };
  add(is_run, DirectoryKind::kRun);
  add(std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("step-"); }),
      DirectoryKind::kCheckpoints);
  add(says("\"segue-checkpoint\""), DirectoryKind::kCheckpoint);
  // What is damaged is still one.
  add(says("\"segue-dataset\"") || (has("manifest.json") && std::ranges::any_of(names, is_shard)),
      DirectoryKind::kDataset);
  add(has("evaluation.json"), DirectoryKind::kEvaluation);
  add(has("measure.json"), DirectoryKind::kComparison);
  add(has("model.safetensors") || has("pytorch_model.bin"), DirectoryKind::kOthersModel);
  return kinds;
}

std::string describe_content(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) return std::string(path_exists(directory) ? "a file" : kNoFiles);
  std::vector<std::string_view> words;
  for (const DirectoryKind kind : kinds_in(directory)) words.push_back(words_of_kind(kind));
  if (!words.empty()) return fmt::format("{}", fmt::join(words, " and "));
  const std::vector<std::string> names = names_in(directory);
  return names.empty() ? std::string(kNoFiles)
                       : "other files, such as " + printable_line(names.front(), kLongestNameShown);
}

namespace {

// "t.txt t3.txt" of "t.txt,t3.txt", where all of these are there; "" otherwise.
std::string parts_between_commas(std::string_view names) {
  if (names.find(',') == std::string_view::npos) return {};
  std::string words;
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (name.empty()) continue;
    if (!path_exists(name)) return {};
    words += fmt::format("{}{}", words.empty() ? "" : " ", shell_word(name));
  }
  return words;
}

}  // namespace

std::string hint_at_missing(const fs::path& missing) {
  const std::string name = missing.string();
  const size_t scheme = name.find(":/");
  if (scheme != std::string::npos && scheme > 1 && name.find('/') == scheme + 1)
    return "; download it first, and name the file";
  if (name == "~" || name.starts_with("~/")) return fmt::format("; ~ is not read here: write $HOME{}", name.substr(1));
  if (const std::string parts = parts_between_commas(name); !parts.empty())
    return fmt::format("; separate paths with spaces: {}", parts);
  if (name.find_first_of("*?") != std::string::npos) return "; the pattern matches nothing";
  return {};
}

std::optional<fs::path> run_around(const fs::path& path) {
  constexpr int kDeepest = 3;  // runs/book/checkpoints/best/state.json
  fs::path place = path.lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  for (int above = 0; above < kDeepest && place.has_relative_path() && place != "."; ++above) {
    place = place.has_parent_path() ? place.parent_path() : fs::path(".");
    if (std::ranges::count(kinds_in(place), DirectoryKind::kRun) > 0) return place;
  }
  return std::nullopt;
}

void check_directory_place(const fs::path& directory, std::string_view flag) {
  fs::path place = directory;
  while (place.has_parent_path() && !path_exists(place) && place != place.parent_path()) place = place.parent_path();
  std::error_code ignored;
  if (!path_exists(place) || fs::is_directory(place, ignored)) return;
  throw UsageError("{} {}: expected a directory{}, found a file; name another", flag, shell_word(directory.string()),
                   place == directory ? "" : fmt::format(" at {}", shell_word(place.string())));
}

std::string meant_beside(const fs::path& missing, DirectoryKind kind) {
  constexpr size_t kMostShown = 5;
  if (std::string hint = hint_at_missing(missing); !hint.empty()) return hint;
  fs::path part = missing.has_filename() ? missing : missing.parent_path();  // the first that is not there
  while (part.has_parent_path() && !path_exists(part.parent_path()) && part != part.parent_path())
    part = part.parent_path();
  const fs::path parent = part.parent_path();
  const fs::path seen = parent.empty() ? "." : parent;
  std::vector<std::string> there;
  for (const std::string& name : names_in(seen))
    if (std::ranges::count(kinds_in(seen / name), kind) > 0) there.push_back(name);
  const std::string near(nearest_word(part.filename().string(), {there.begin(), there.end()}));
  if (!near.empty()) return did_you_mean(shell_word((parent / near).string()));
  if (there.empty()) return {};
  const size_t shown = std::min(there.size(), kMostShown);
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("{}{}", i == 0 ? "; beside it: " : ", ", shell_word((parent / there[i]).string()));
  return text + (shown < there.size() ? fmt::format(" and {} more", there.size() - shown) : "");
}

}  // namespace segue
