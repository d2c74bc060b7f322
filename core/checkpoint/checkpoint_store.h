// The checkpoints of one run: saved as single events, pruned, and found again after whatever happened to the run.
//
//   checkpoints/step-00000120/    one checkpoint
//   checkpoints/best              symbolic link to the checkpoint with the best score; programs take its path like
//                                 that of any other
//   checkpoints/.step-*.partial   being written; only a killed process leaves one behind, and the next save clears it
//   checkpoints/.step-*.removed   being deleted; likewise
//   checkpoints/.step-*.replaced  the old checkpoint while a new save of its step takes its place; counts as that step
//                                 as long as the new one is missing
//
// A leftover that the system does not let go (an immutable file, one that an NFS client still has open) is reported
// once and left there. Where its name is needed, the next is ".step-00000120.2.partial".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/checkpoint.h"

namespace segue {

// The newest intact checkpoint, if there is one, and one line for each checkpoint that could not be used.
struct IntactCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> complaints;
  int64_t newer = 0;  // how many of these were saved by a newer version of the program
};

// One process writes (save, mark_best, prune); any number may read meanwhile. Checkpoints are ordered by their saves,
// not by their steps: a run that goes back to step 100 and saves 110 has 110 as its newest, also while 120 is still
// there.
class CheckpointStore {
 public:
  using Warn = std::function<void(const std::string& warning)>;
  using CheckOwner = std::function<void()>;

  // `warn` gets what cannot be deleted; `check_owner` is called before a save begins and right before it is published,
  // and throws when another process writes now.
  explicit CheckpointStore(std::filesystem::path directory, Warn warn = nullptr, CheckOwner check_owner = nullptr)
      : directory_(std::move(directory)), warn_(std::move(warn)), check_owner_(std::move(check_owner)) {}

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path path_of(int64_t step) const;

  // Writes beside, syncs, renames; a checkpoint of the same step is replaced. Throws FileError when the system refuses
  // (a full disk): then everything saved earlier is as it was.
  void save(int64_t step, const CheckpointContents& contents, const FilesOfOthers& others = nullptr);

  // Points `best` at a saved step, in one rename.
  void mark_best(int64_t step);

  // Deletes all but the `keep_last` newest (at least 1) and the best one, as far as the system lets them go. Damaged
  // manifests are left for a person to see.
  void prune(int64_t keep_last);

  bool is_empty() const;              // nothing was saved, not even what is damaged now
  std::vector<int64_t> list() const;  // steps in the order of their saves; only those with a readable manifest
  std::optional<int64_t> newest() const;
  std::optional<int64_t> best() const;
  std::string complaint_of_best() const;  // what stands in place of the link and names no checkpoint; mostly empty

  // Verified. Throws CheckpointError naming the damage and, when there is one, the newest intact other checkpoint.
  Checkpoint open(int64_t step) const;

  // The newest that verifies.
  IntactCheckpoint newest_intact() const;

 private:
  void clear_leftovers();
  void discard(const std::filesystem::path& path);
  void remove(const std::filesystem::path& path, int64_t step);
  bool move_or_warn(const std::filesystem::path& from, const std::filesystem::path& to);
  void warn_once(const std::filesystem::path& path, const std::string& complaint);

  std::filesystem::path directory_;
  Warn warn_;
  CheckOwner check_owner_;
  std::set<std::filesystem::path> warned_of_;
};

// A checkpoint as a person may name it: a run's directory or its `checkpoints` (then the newest intact one), or one
// checkpoint's own directory, `best` included. Throws CheckpointError when nothing intact is there.
struct ResolvedCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> complaints;
  std::string choice = {};  // says that the run's best checkpoint is another one than this, its newest; mostly empty
};
ResolvedCheckpoint resolve_checkpoint(const std::filesystem::path& path);
inline constexpr std::string_view kCheckpointMeaning = "a run (its newest intact checkpoint) or one checkpoint";

}  // namespace segue
