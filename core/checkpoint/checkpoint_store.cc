#include "core/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

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

// ".step-00000120.partial" is the first of its step, ".step-00000120.2.partial" the second.
struct Hidden {
  int64_t step = 0;
  int64_t number = 1;
};

std::string hidden_name(const Hidden& hidden, std::string_view suffix) {
  const std::string number = hidden.number == 1 ? "" : fmt::format(".{}", hidden.number);
  return fmt::format(".{}{}{}", step_name(hidden.step), number, suffix);
}

std::optional<Hidden> hidden_of_name(std::string_view name, std::string_view suffix) {
  if (!name.starts_with('.') || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view inner = name.substr(1, name.size() - 1 - suffix.size());
  const size_t dot = std::min(inner.find('.'), inner.size());
  const std::optional<int64_t> step = step_of_name(inner.substr(0, dot));
  if (!step) return std::nullopt;
  Hidden hidden{.step = *step, .number = 1};
  if (dot < inner.size()) std::from_chars(inner.data() + dot + 1, inner.data() + inner.size(), hidden.number);
  if (hidden_name(hidden, suffix) != name) return std::nullopt;
  return hidden;
}

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kReplaced = ".replaced";

std::vector<std::string> all_names_in(const fs::path& directory) {
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

// The newest hidden one of a step; number 0 when there is none.
Hidden last_hidden(const fs::path& directory, int64_t step, std::string_view suffix) {
  Hidden last{.step = step, .number = 0};
  for (const std::string& name : all_names_in(directory)) {
    const std::optional<Hidden> hidden = hidden_of_name(name, suffix);
    if (hidden && hidden->step == step) last.number = std::max(last.number, hidden->number);
  }
  return last;
}

// A name that nothing has: the first, unless one is in the way that cannot be deleted.
fs::path free_path(const fs::path& directory, int64_t step, std::string_view suffix) {
  Hidden hidden = last_hidden(directory, step, suffix);
  ++hidden.number;
  return directory / hidden_name(hidden, suffix);
}

// Every step that has a directory, whole or not, in ascending order.
std::vector<int64_t> steps_in(const fs::path& directory) {
  std::vector<int64_t> steps;
  for (const std::string& name : all_names_in(directory)) {
    if (const auto step = step_of_name(name)) steps.push_back(*step);
    if (const auto hidden = hidden_of_name(name, kReplaced)) steps.push_back(hidden->step);
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
  int64_t newer = 0;
};

Scan scan(const CheckpointStore& store) {
  Scan result;
  for (const int64_t step : steps_in(store.directory())) {
    try {
      result.saved.push_back({read_manifest(store.path_of(step)).saved, step});
    } catch (const NewerCheckpointError& error) {
      result.complaints.emplace_back(error.what());
      ++result.newer;
    } catch (const Error& error) {
      result.complaints.emplace_back(error.what());
    }
  }
  std::sort(result.saved.begin(), result.saved.end(),
            [](const Saved& a, const Saved& b) { return std::pair(a.number, a.step) < std::pair(b.number, b.step); });
  return result;
}

IntactCheckpoint newest_intact_but(const CheckpointStore& store, std::optional<int64_t> excluded) {
  Scan found = scan(store);
  IntactCheckpoint result{.checkpoint = {}, .complaints = std::move(found.complaints), .newer = found.newer};
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

std::string none_of(size_t checkpoints) {
  return checkpoints == 1 ? "its one checkpoint is not" : fmt::format("none of its {} checkpoints is", checkpoints);
}

bool is_intact(const CheckpointStore& store, int64_t step) try {
  static_cast<void>(Checkpoint(store.path_of(step)));
  return true;
} catch (const Error&) {
  return false;
}

std::string choice_of(const CheckpointStore& store, const IntactCheckpoint& found, const fs::path& named) {
  const int64_t taken = found.checkpoint->step();
  const bool all_are_intact = found.complaints.empty();
  const std::string taking =
      fmt::format("taking the newest {}checkpoint, of step {}", all_are_intact ? "" : "intact ", taken);
  if (const std::string complaint = store.complaint_of_best(); !complaint.empty())
    return fmt::format("{}; {}", complaint, taking);
  const std::optional<int64_t> best = store.best();
  // Where some are damaged the best may be, too.
  const bool names_best = best && *best != taken && (all_are_intact || is_intact(store, *best));
  if (!names_best) return all_are_intact ? "" : taking;
  return fmt::format("{}; the one with the best evaluation, of step {}, is {}", taking, *best,
                     shell_word((named / kBestName).string()));
}

// `named` is the directory as a person has named it.
ResolvedCheckpoint newest_in(const fs::path& directory, const fs::path& named) {
  const CheckpointStore store(directory);
  IntactCheckpoint found = store.newest_intact();
  if (found.checkpoint) {
    std::string choice = choice_of(store, found, named);
    return {std::move(*found.checkpoint), std::move(found.complaints), std::move(choice)};
  }
  if (found.complaints.empty()) throw CheckpointError("{}: expected a checkpoint, found none", directory.string());
  if (found.newer == std::ssize(found.complaints)) throw CheckpointError("{}", found.complaints.back());
  throw CheckpointError("{}: {} intact: {}", directory.string(), none_of(found.complaints.size()),
                        found.complaints.back());
}

}  // namespace

fs::path CheckpointStore::path_of(int64_t step) const {
  fs::path path = directory_ / step_name(step);
  if (path_exists(path)) return path;
  const Hidden replaced = last_hidden(directory_, step, kReplaced);
  return replaced.number > 0 ? directory_ / hidden_name(replaced, kReplaced) : path;
}

void CheckpointStore::warn_once(const fs::path& path, const std::string& complaint) {
  if (warned_of_.insert(path).second && warn_) warn_(complaint + "; left there");
}

void CheckpointStore::discard(const fs::path& path) try { remove_tree(path); } catch (const FileError& error) {
  warn_once(path, error.what());
}

bool CheckpointStore::move_or_warn(const fs::path& from, const fs::path& to) try {
  rename_durably(from, to);
  return true;
} catch (const FileError& error) {
  warn_once(from, error.what());
  return false;
}

// Under a name that never counts before anything of it is deleted.
void CheckpointStore::remove(const fs::path& path, int64_t step) {
  const fs::path removed = free_path(directory_, step, kRemoved);
  if (move_or_warn(path, removed)) discard(removed);
}

// Finishes what a killed process began: clears what was half-written or half-deleted, puts back what was set aside.
void CheckpointStore::clear_leftovers() {
  for (const std::string& name : all_names_in(directory_)) {
    const fs::path path = directory_ / name;
    if (hidden_of_name(name, kPartial) || hidden_of_name(name, kRemoved)) discard(path);
    const auto replaced = hidden_of_name(name, kReplaced);
    if (!replaced) continue;
    if (path == path_of(replaced->step)) {
      move_or_warn(path, directory_ / step_name(replaced->step));
    } else {
      remove(path, replaced->step);
    }
  }
}

void CheckpointStore::save(int64_t step, const CheckpointContents& contents, const FilesOfOthers& others) {
  if (check_owner_) check_owner_();
  make_directories(directory_);
  clear_leftovers();
  const Scan earlier = scan(*this);
  const int64_t number = earlier.saved.empty() ? 1 : earlier.saved.back().number + 1;
  const fs::path target = directory_ / step_name(step);
  const fs::path replaced = free_path(directory_, step, kReplaced);
  PartialCheckpoint partial({.target = target, .partial = free_path(directory_, step, kPartial)}, step, number,
                            contents, others);
  if (check_owner_) check_owner_();
  if (path_exists(target)) rename_durably(target, replaced);
  partial.publish();
  if (path_exists(replaced)) remove(replaced, step);
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
  const fs::path best = directory_ / kBestName;
  if (fs::is_directory(fs::symlink_status(best, error))) remove_tree(best);  // a copy of the run that followed the link
  rename_durably(beside, best);
}

void CheckpointStore::prune(int64_t keep_last) {
  if (keep_last < 1) throw ContractError("keep_last is {}, expected at least 1", keep_last);
  const std::vector<int64_t> steps = list();
  const std::optional<int64_t> kept_as_best = best();
  const int64_t excess = static_cast<int64_t>(steps.size()) - keep_last;
  for (int64_t i = 0; i < excess; ++i) {
    const int64_t step = steps[static_cast<size_t>(i)];
    if (step == kept_as_best) continue;
    remove(path_of(step), step);
  }
}

bool CheckpointStore::is_empty() const { return steps_in(directory_).empty(); }

std::vector<int64_t> CheckpointStore::list() const {
  std::vector<int64_t> steps;
  for (const Saved& saved : scan(*this).saved) steps.push_back(saved.step);
  return steps;
}

std::optional<int64_t> CheckpointStore::newest() const {
  const std::vector<int64_t> steps = list();
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

namespace {

// Of a whole checkpoint in place of a link, as a copy of a run has it that followed links.
std::optional<int64_t> step_of_copy(const fs::path& path) try {
  return path_exists(path / kManifestName) ? std::optional(Checkpoint(path).step()) : std::nullopt;
} catch (const CheckpointError&) {
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> CheckpointStore::best() const {
  std::error_code none;
  const fs::path best = directory_ / kBestName;
  const fs::path target = fs::read_symlink(best, none);
  const std::optional<int64_t> step = none ? step_of_copy(best) : step_of_name(target.string());
  return step && path_exists(path_of(*step)) ? step : std::nullopt;
}

std::string CheckpointStore::complaint_of_best() const {
  std::error_code none;
  const fs::path best = directory_ / kBestName;
  if (!fs::is_regular_file(fs::symlink_status(best, none))) return {};
  return fmt::format("{}: expected a link to the best checkpoint, found a file, as copies without links have it",
                     best.string());
}

Checkpoint CheckpointStore::open(int64_t step) const {
  try {
    return Checkpoint(path_of(step));
  } catch (const CheckpointError& error) {
    const IntactCheckpoint other = newest_intact_but(*this, step);
    if (!other.checkpoint) throw CheckpointError("{}; no other checkpoint of the run is intact", error.what());
    throw CheckpointError("{}; the newest intact other checkpoint is {}, which `segue train --resume` continues from",
                          error.what(), other.checkpoint->directory().string());
  }
}

IntactCheckpoint CheckpointStore::newest_intact() const { return newest_intact_but(*this, std::nullopt); }

namespace {

// The checkpoints beside a path at which nothing is, or in the run beside it: "; did you mean ...?" where it is the
// number of one, "; there are step-00000010, step-00000020 and best". Nothing where there are none.
std::string checkpoints_beside(const fs::path& missing) {
  constexpr size_t kMostShown = 5;
  const fs::path named = missing.has_filename() ? missing : missing.parent_path();
  const fs::path parent = named.has_parent_path() ? named.parent_path() : ".";
  const fs::path place = path_exists(parent / "checkpoints") ? parent / "checkpoints" : parent;
  const std::vector<int64_t> steps = path_exists(place) ? steps_in(place) : std::vector<int64_t>();
  if (steps.empty()) return {};
  std::string_view name = named.filename().native();
  if (name.starts_with(kStepPrefix)) name.remove_prefix(kStepPrefix.size());
  int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (is_number && std::ranges::find(steps, step) != steps.end())
    return did_you_mean(shell_word((place / step_name(step)).string()));
  std::string text = fmt::format("; in {} {}", shell_word(place.string()), steps.size() == 1 ? "is" : "are");
  const size_t first = steps.size() - std::min(steps.size(), kMostShown);
  for (size_t i = first; i < steps.size(); ++i)
    text += fmt::format("{}{}", i == first ? " " : ", ", step_name(steps[i]));
  return text + (path_exists(place / kBestName) ? fmt::format(" and {}", kBestName) : "");
}

// What is known to be something else, as far as it can be told from outside.
void refuse_other_paths(const fs::path& path, const fs::path& real) {
  const fs::path manifest = real / kManifestName;
  const bool has_manifest = path_exists(manifest) && kind_of_file(manifest) != DocumentKind::kDataset;
  const bool may_be_one = has_manifest || step_of_name(real.filename().string()) || real.filename() == "checkpoints" ||
                          (fs::is_directory(real) && (path_exists(real / "checkpoints") || !steps_in(real).empty()));
  if (const auto whole = whole_of_file(path); whole && whole->kind != "a dataset")
    throw CheckpointError("{}: expected a run's directory, its checkpoints, or one checkpoint, found a file of {}{}",
                          path.string(), whole->kind, did_you_mean(shell_word(whole->directory.string())));
  if (!may_be_one && std::ranges::count(kinds_in(real), DirectoryKind::kRun) > 0)
    throw CheckpointError("{}: expected a run with a checkpoint, found one that has saved none yet", path.string());
  const std::string found = may_be_one ? "" : describe_path(path);
  if (!found.empty())
    throw CheckpointError("{}: expected a run's directory, its checkpoints, or one checkpoint, found {}", path.string(),
                          found);
}

// Beside checkpoints, one of which it should lead to.
void refuse_file_for_best(const fs::path& path, const fs::path& real) {
  if (real.filename() != kBestName || steps_in(real.parent_path()).empty()) return;
  const std::string complaint = CheckpointStore(real.parent_path()).complaint_of_best();
  if (complaint.empty()) return;
  throw CheckpointError("{}; name the checkpoint itself, such as {}", complaint,
                        shell_word((path.parent_path() / step_name(steps_in(real.parent_path()).back())).string()));
}

}  // namespace

ResolvedCheckpoint resolve_checkpoint(const fs::path& path) {
  std::error_code missing;
  const fs::path real = fs::canonical(path, missing);
  if (missing == std::errc::no_such_file_or_directory) {
    const std::string beside = checkpoints_beside(path);
    throw CheckpointError("{}: expected a run or a checkpoint, found nothing there{}", path.string(),
                          beside.empty() ? meant_beside(path, DirectoryKind::kRun) : beside);
  }
  if (missing) throw CheckpointError("{}: expected a run or a checkpoint: {}", path.string(), missing.message());
  refuse_file_for_best(path, real);
  refuse_other_paths(path, real);
  if (const auto step = step_of_name(real.filename().string())) {
    return {CheckpointStore(real.parent_path()).open(*step), {}, {}};
  }
  if (path_exists(real / kManifestName)) return {Checkpoint(real), {}, {}};
  if (fs::is_directory(real / "checkpoints", missing)) return newest_in(real / "checkpoints", path / "checkpoints");
  if (real.filename() == "checkpoints" || !steps_in(real).empty()) return newest_in(real, path);
  throw CheckpointError("{}: expected a run's directory, its checkpoints, or one checkpoint", path.string());
}

}  // namespace segue
