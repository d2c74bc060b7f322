// The directory of one run.
//
//   config.json      the resolved configuration
//   metrics.jsonl    one line per logged step and per evaluation
//   lock             held by the process that trains, with its name
//   sessions.jsonl   one line per process that trained it, see core/checkpoint/made_by.h
//   checkpoints/     see core/checkpoint/checkpoint_store.h
//   evaluations/     results of `segue eval --name`, see core/evaluation/evaluation_report.h
#pragma once

#include <filesystem>
#include <memory>

#include "base/directory_lock.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/checkpoint/made_by.h"
#include "core/config/config.h"

namespace segue {

class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the directory and keeps it, while this object lives, from other processes that train. Throws FileError when
  // one of them has it.
  void lock();

  // To be called right before anything is written, by the process that has the lock; of others it asks nothing. Throws
  // FileError when another one has taken the directory over.
  void check_lock() const;

  // Takes away what this object has made, if the directory was not there before lock() and no step of training is
  // written in it. Says whether the directory is gone.
  bool remove_unused();

  // Throws UsageError when the directory is that of something else, or holds other files, with which a run would be
  // mixed; also when none can be there.
  void check_own() const;

  // Throws UsageError when a run is there already that has saved a checkpoint or was evaluated.
  void check_new() const;

  // Writes config.json. When `resuming` is not set, it takes the place of a run that ended before its first checkpoint,
  // or throws as check_new() does.
  void begin(const Config& config, bool resuming) const;

  // Whether a run has begun here.
  bool is_begun() const;

  // Absolute path at which the run last had its dataset; empty: nothing says so.
  std::string dataset_path() const;

  // Adds a line to sessions.jsonl.
  void add_session(const MadeBy& made_by) const;

  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  CheckpointStore checkpoints(CheckpointStore::Warn warn = nullptr) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<DirectoryLock> lock_;
  bool is_made_here_ = false;
};

}  // namespace segue
