#include "core/train/run_directory.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/directory_content.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

constexpr size_t kLongestNameShown = 100;

void RunDirectory::lock() {
  const bool is_new = !path_exists(path_);
  make_directories(path_);
  make_directories(path_ / "checkpoints");
  lock_ = std::make_unique<DirectoryLock>(path_);
  is_made_here_ = is_new;
}

bool RunDirectory::remove_unused() try {
  namespace fs = std::filesystem;
  if (!is_made_here_ || !checkpoints().is_empty()) return false;
  if (path_exists(metrics()) && !read_file(metrics()).empty()) return false;
  check_lock();
  is_made_here_ = false;
  // The lock goes last, and directories only when they are empty: nothing of anybody else is lost.
  std::error_code kept;
  for (const fs::path& file : {config(), metrics(), path_ / kSessionsFile, path_ / "report.html", path_ / "checkpoints",
                               path_ / "lock", path_})
    fs::remove(file, kept);
  return !path_exists(path_);
} catch (const FileError&) {  // it is another's now, or cannot be read
  return false;
}

void RunDirectory::check_lock() const {
  if (lock_) lock_->check();
}

CheckpointStore RunDirectory::checkpoints(CheckpointStore::Warn warn) const {
  return CheckpointStore(path_ / "checkpoints", std::move(warn), [this] { check_lock(); });
}

namespace {

// A name in a directory that is neither a run's nor one that a shell or a scheduler makes beside it, such as a log;
// "" where there is none.
std::string name_of_others(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  constexpr std::array<std::string_view, 7> kOfRuns{"config.json", "metrics.jsonl", "lock",       kSessionsFile,
                                                    "checkpoints", "evaluations",   "report.html"};
  constexpr std::array<std::string_view, 3> kOfLogs{".log", ".out", ".err"};
  for (const std::string& name : names_in(directory)) {
    std::error_code error;
    const fs::path path = directory / name;
    const bool is_log = std::ranges::find(kOfLogs, path.extension().string()) != kOfLogs.end();
    const bool is_empty = fs::is_regular_file(path, error) && fs::file_size(path, error) == 0;  // `| tee` begins one
    if (name.front() != '.' && !is_log && !is_empty && std::ranges::find(kOfRuns, name) == kOfRuns.end()) return name;
  }
  return {};
}

}  // namespace

void RunDirectory::check_own() const {
  check_directory_place(path_, "--run");
  const std::vector<DirectoryKind> kinds = kinds_in(path_);
  if (kinds.empty())
    if (const std::string other = name_of_others(path_); !other.empty())
      throw UsageError("{}: exists and is not a run: it holds other files, such as {}; name another --run",
                       path_.string(), printable_line(other, kLongestNameShown));
  if (!kinds.empty() && std::ranges::count(kinds, DirectoryKind::kRun) == 0)
    throw UsageError(
        "{}: expected a directory for a run, found that of {}{}", path_.string(), describe_content(path_),
        run_around(path_) ? did_you_mean(shell_word(run_around(path_)->string())) : "; name another with --run");
}

void RunDirectory::check_new() const {
  const bool is_used = !checkpoints().is_empty() || path_exists(path_ / "evaluations");
  if (is_begun() && is_used)
    throw UsageError("{}: a run is there already; continue it with --resume or name another directory with --run",
                     path_.string());
}

void RunDirectory::begin(const Config& run_config, bool resuming) const {
  if (!resuming) {
    check_new();
    remove_tree(path_ / kSessionsFile);
  }
  write_file_atomically(config(), to_json(run_config).dump(2) + "\n");
}

bool RunDirectory::is_begun() const { return path_exists(config()); }

std::string RunDirectory::dataset_path() const {
  const std::filesystem::path path = path_ / kSessionsFile;
  if (!path_exists(path)) return {};
  const std::vector<MadeBy> sessions = parse_sessions(read_file(path));
  return sessions.empty() ? std::string() : sessions.back().data;
}

void RunDirectory::add_session(const MadeBy& made_by) const {
  const std::filesystem::path path = path_ / kSessionsFile;
  std::string lines;
  if (path_exists(path)) {
    lines = read_file(path);  // as they are: other versions may have written them
    if (!lines.empty() && lines.back() != '\n') lines += '\n';
  }
  write_file_atomically(path, lines + write_fields(made_by).dump() + "\n");
}

}  // namespace segue
