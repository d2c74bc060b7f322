// The checkpoints of one run: saved as single events, pruned, and found again after whatever happened to the run.
//
//   checkpoints/step-00000120/   one checkpoint
//   checkpoints/best             symbolic link to the one with the best score, so that its path can be given to
//   programs checkpoints/.step-*.partial  being written                  ) left only by a killed process;
//   checkpoints/.step-*.removed  being deleted                  ) the next save clears them
//   checkpoints/.step-*.replaced the old one while a save of the same step takes its place; counts while that is
//   missing
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint.h"

namespace segue {

// What there was to be found, and one line for each checkpoint that could not be used.
struct IntactCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> complaints;
};

// One process writes (save, mark_best, prune); any number may read meanwhile. Checkpoints are ordered by their saves,
// not by their steps: a run that goes back to step 100 and saves 110 has 110 as its newest, also while 120 is still
// there.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path path_of(int64_t step) const;

  // Writes beside, syncs, renames; a checkpoint of the same step is replaced. Throws FileError when the system refuses
  // (a full disk): then everything saved earlier is as it was.
  void save(int64_t step, const CheckpointContents& contents, const FilesOfOthers& others = nullptr);

  // Where the other processes of a save write their files while `others` runs.
  std::filesystem::path partial_path_of(int64_t step) const;

  // Points `best` at a saved step, in one rename.
  void mark_best(int64_t step);

  // Deletes all but the `keep_last` newest (at least 1) and the best one. Damaged manifests are left for a person to
  // see.
  void prune(int64_t keep_last);

  std::vector<int64_t> list() const;  // steps in the order of their saves; only those with a readable manifest
  std::optional<int64_t> newest() const;
  std::optional<int64_t> best() const;

  // Verified. Throws CheckpointError naming the damage and, when there is one, the newest intact other checkpoint.
  Checkpoint open(int64_t step) const;

  // The newest that verifies.
  IntactCheckpoint newest_intact() const;

 private:
  std::filesystem::path directory_;
};

// What a person may give as a checkpoint: a run's directory or its `checkpoints` (then the newest intact one), or one
// checkpoint's own directory, `best` included. Throws CheckpointError when nothing intact is there.
struct ResolvedCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> complaints;
};
ResolvedCheckpoint resolve_checkpoint(const std::filesystem::path& path);

}  // namespace segue
