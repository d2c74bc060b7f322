// A directory that appears under its name whole or not at all.
#pragma once

#include <filesystem>
#include <optional>

#include "base/unfinished_output.h"

namespace segue {

// Filled as `<target>.partial`, then synced and renamed. Until commit() nothing is seen under the target's name, and
// an existing target stays as it is.
class StagedDirectory {
 public:
  // Removes what an interrupted run left; FileError when another process is filling the same directory right now.
  explicit StagedDirectory(const std::filesystem::path& target);
  ~StagedDirectory();  // without commit(), removes what was written, as a CleanInterrupt does
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  // Where the files go; each must be synced by whoever writes it.
  const std::filesystem::path& path() const { return partial_; }
  // Replaces the target, which may exist as a directory.
  void commit();

 private:
  void claim();

  std::filesystem::path target_;
  std::filesystem::path partial_;
  std::optional<UnfinishedOutput> output_;
  int lock_ = -1;
  bool committed_ = false;
};

}  // namespace segue
