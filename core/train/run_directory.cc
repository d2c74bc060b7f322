// Creation of a run's directory.
#include "core/train/run_directory.h"

#include "base/error.h"

namespace segue {

std::unique_ptr<DirectoryLock> RunDirectory::lock() const {
  make_directories(path_ / "checkpoints");
  return std::make_unique<DirectoryLock>(path_);
}

void RunDirectory::begin(const Config& run_config, bool resuming) const {
  if (!resuming && std::filesystem::exists(config())) {
    throw UsageError("{}: a run is there already; continue it with --resume or name another directory with --run",
                     path_.string());
  }
  write_file_atomically(config(), to_json(run_config).dump(2) + "\n");
}

}  // namespace segue
