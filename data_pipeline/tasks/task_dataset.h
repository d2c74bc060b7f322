// Makes a finished dataset from the file of a task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/log.h"
#include "data_pipeline/tasks/task_spec.h"

namespace segue {

constexpr const char* kTaskFile = "task.json";  // beside the manifest: what the dataset was made from

struct TaskDatasetOptions {
  std::filesystem::path output = {};
  int64_t compression = 1;                   // deflate level, 0: none
  int64_t shard_tokens = int64_t{16} << 20;  // at most so many in a shard; one, and its marks, are held in memory
  bool force = false;                        // replace an existing dataset
  bool quiet = false;                        // no progress
  std::string command = {};                  // for the manifest
};

// Writes the dataset `output`, or throws and leaves nothing: ConfigError, naming `source`, for what no example can
// meet, UsageError and DataError for an output that may not be written, FileError when the disk refuses.
void write_task_dataset(const TaskSpec& spec, const std::string& source, const TaskDatasetOptions& options,
                        Logger& logger);

}  // namespace segue
