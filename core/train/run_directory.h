// The directory of one run.
//
//   config.json      the resolved configuration
//   metrics.jsonl    one line per logged step and per evaluation
//   checkpoints/     see core/checkpoint/checkpoint_store.h
//   evaluations/     results of `segue eval --name`, see core/evaluation/evaluation_report.h
#pragma once

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/config/config.h"

namespace segue {

class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the directory and keeps it from other processes that train. Throws FileError when one of them has it.
  std::unique_ptr<DirectoryLock> lock() const;

  // Writes config.json. Throws UsageError when a run is there already and `resuming` is not set.
  void begin(const Config& config, bool resuming) const;

  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  CheckpointStore checkpoints() const { return CheckpointStore(path_ / "checkpoints"); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace segue
