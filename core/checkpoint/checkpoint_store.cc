// Order, replacement, deletion and search of the checkpoints of a run.
#include "core/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace segue {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kBestName = "best";

std::string step_name(int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }

std::optional<int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  int64_t step = -1;
  const char* const end = name.data() + name.size();
  std::from_chars(name.data() + kStepPrefix.size(), end, step);
  if (step < 0 || step_name(step) != name) return std::nullopt;
  return step;
}

// The step of a hidden name such as ".step-00000120.partial".
std::optional<int64_t> step_of_hidden(std::string_view name, std::string_view suffix) {
  if (!name.starts_with('.') || !name.ends_with(suffix)) return std::nullopt;
  return step_of_name(name.substr(1, name.size() - 1 - suffix.size()));
}

fs::path hidden_path(const fs::path& directory, int64_t step, std::string_view suffix) {
  return directory / fmt::format(".{}{}", step_name(step), suffix);
}

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kReplaced = ".replaced";

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw FileError("{}: cannot list: {}", directory.string(), error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Every step that has a directory, whole or not, in ascending order.
std::vector<int64_t> steps_in(const fs::path& directory) {
  std::vector<int64_t> steps;
  for (const std::string& name : names_in(directory)) {
    if (const auto step = step_of_name(name)) steps.push_back(*step);
    if (const auto step = step_of_hidden(name, kReplaced)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

struct Saved {
  int64_t number = 0;
  int64_t step = 0;
};

struct Scan {
  std::vector<Saved> saved;  // oldest save first
  std::vector<std::string> complaints;
};

Scan scan(const CheckpointStore& store) {
  Scan result;
  for (const int64_t step : steps_in(store.directory())) {
    try {
      result.saved.push_back({read_manifest(store.path_of(step)).saved, step});
    } catch (const Error& error) {
      result.complaints.emplace_back(error.what());
    }
  }
  std::sort(result.saved.begin(), result.saved.end(),
            [](const Saved& a, const Saved& b) { return std::pair(a.number, a.step) < std::pair(b.number, b.step); });
  return result;
}

// Finishes what a killed process began: clears what was half-written or half-deleted, puts back what was set aside.
void clear_leftovers(const fs::path& directory) {
  for (const std::string& name : names_in(directory)) {
    const fs::path path = directory / name;
    if (step_of_hidden(name, kPartial) || step_of_hidden(name, kRemoved)) remove_tree(path);
    const auto replaced = step_of_hidden(name, kReplaced);
    if (!replaced) continue;
    if (path_exists(directory / step_name(*replaced))) {
      remove_tree(path);
    } else {
      rename_durably(path, directory / step_name(*replaced));
    }
  }
}

IntactCheckpoint newest_intact_but(const CheckpointStore& store, std::optional<int64_t> excluded) {
  Scan found = scan(store);
  IntactCheckpoint result{.checkpoint = {}, .complaints = std::move(found.complaints)};
  for (auto saved = found.saved.rbegin(); saved != found.saved.rend() && !result.checkpoint; ++saved) {
    if (saved->step == excluded) continue;
    try {
      result.checkpoint.emplace(store.path_of(saved->step));
    } catch (const Error& error) {
      result.complaints.emplace_back(error.what());
    }
  }
  return result;
}

ResolvedCheckpoint newest_in(const fs::path& directory) {
  IntactCheckpoint found = CheckpointStore(directory).newest_intact();
  if (found.checkpoint) return {std::move(*found.checkpoint), std::move(found.complaints)};
  if (found.complaints.empty()) throw CheckpointError("{}: expected a checkpoint, found none", directory.string());
  throw CheckpointError("{}: none of its {} checkpoints is intact: {}", directory.string(), found.complaints.size(),
                        found.complaints.back());
}

}  // namespace

fs::path CheckpointStore::path_of(int64_t step) const {
  const fs::path path = directory_ / step_name(step);
  const fs::path replaced = hidden_path(directory_, step, kReplaced);
  return !path_exists(path) && path_exists(replaced) ? replaced : path;
}

fs::path CheckpointStore::partial_path_of(int64_t step) const { return partial_path(directory_ / step_name(step)); }

void CheckpointStore::save(int64_t step, const CheckpointContents& contents, const FilesOfOthers& others) {
  make_directories(directory_);
  clear_leftovers(directory_);
  const Scan earlier = scan(*this);
  const int64_t number = earlier.saved.empty() ? 1 : earlier.saved.back().number + 1;
  const fs::path target = directory_ / step_name(step);
  const fs::path replaced = hidden_path(directory_, step, kReplaced);
  PartialCheckpoint partial(target, step, number, contents, others);
  if (path_exists(target)) rename_durably(target, replaced);
  partial.publish();
  remove_tree(replaced);
}

void CheckpointStore::mark_best(int64_t step) {
  if (!path_exists(directory_ / step_name(step))) {
    throw ContractError("{}: step {} marked best, expected a saved one", directory_.string(), step);
  }
  const fs::path beside = directory_ / fmt::format(".{}{}", kBestName, kPartial);
  remove_tree(beside);
  std::error_code error;
  fs::create_directory_symlink(step_name(step), beside, error);
  if (error) throw FileError("{}: cannot create the link: {}", beside.string(), error.message());
  rename_durably(beside, directory_ / kBestName);
}

void CheckpointStore::prune(int64_t keep_last) {
  if (keep_last < 1) throw ContractError("keep_last is {}, expected at least 1", keep_last);
  const std::vector<int64_t> steps = list();
  const std::optional<int64_t> kept_as_best = best();
  const int64_t excess = static_cast<int64_t>(steps.size()) - keep_last;
  for (int64_t i = 0; i < excess; ++i) {
    const int64_t step = steps[static_cast<size_t>(i)];
    if (step == kept_as_best) continue;
    const fs::path removed = hidden_path(directory_, step, kRemoved);
    rename_durably(path_of(step), removed);
    remove_tree(removed);
  }
}

std::vector<int64_t> CheckpointStore::list() const {
  std::vector<int64_t> steps;
  for (const Saved& saved : scan(*this).saved) steps.push_back(saved.step);
  return steps;
}

std::optional<int64_t> CheckpointStore::newest() const {
  const std::vector<int64_t> steps = list();
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

std::optional<int64_t> CheckpointStore::best() const {
  std::error_code none;
  const fs::path target = fs::read_symlink(directory_ / kBestName, none);
  const std::optional<int64_t> step = none ? std::nullopt : step_of_name(target.string());
  return step && path_exists(path_of(*step)) ? step : std::nullopt;
}

Checkpoint CheckpointStore::open(int64_t step) const {
  try {
    return Checkpoint(path_of(step));
  } catch (const CheckpointError& error) {
    const IntactCheckpoint other = newest_intact_but(*this, step);
    if (!other.checkpoint) throw CheckpointError("{}; no other checkpoint of the run is intact", error.what());
    throw CheckpointError("{}; the newest intact other checkpoint is {}, which `segue train --resume` goes on from",
                          error.what(), other.checkpoint->directory().string());
  }
}

IntactCheckpoint CheckpointStore::newest_intact() const { return newest_intact_but(*this, std::nullopt); }

ResolvedCheckpoint resolve_checkpoint(const fs::path& path) {
  std::error_code missing;
  const fs::path real = fs::canonical(path, missing);
  if (missing) throw CheckpointError("{}: expected a checkpoint: {}", path.string(), missing.message());
  if (const auto step = step_of_name(real.filename().string())) {
    return {CheckpointStore(real.parent_path()).open(*step), {}};
  }
  if (path_exists(real / kManifestName)) return {Checkpoint(real), {}};
  if (fs::is_directory(real / "checkpoints", missing)) return newest_in(real / "checkpoints");
  if (real.filename() == "checkpoints" || !steps_in(real).empty()) return newest_in(real);
  throw CheckpointError("{}: expected a run's directory, its checkpoints, or one checkpoint", path.string());
}

}  // namespace segue
