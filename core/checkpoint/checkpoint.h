// One checkpoint: a directory of safetensors and text files that appears whole or not at all, and is verified when
// read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/json_text.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors.h"

namespace segue {

// Names are those of the files, extension included: "weights.safetensors", "state.json".
struct TensorFile {
  std::string name;
  std::vector<NamedTensor> tensors;
  Metadata metadata;
};
struct TextFile {
  std::string name;
  std::string text;
};
struct CheckpointContents {
  std::vector<TensorFile> tensor_files;
  std::vector<TextFile> text_files;
};

// A checkpoint whose every file had the size and checksum of its manifest when this object was made.
class Checkpoint {
 public:
  // Throws CheckpointError naming the file, what was expected and what was found.
  explicit Checkpoint(std::filesystem::path directory);

  const std::filesystem::path& directory() const { return directory_; }
  int64_t step() const { return manifest_.step; }
  std::string manifest_checksum() const { return checksum_of(manifest_); }
  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;  // of its files
  // Throw CheckpointError when the manifest does not list the file.
  SafetensorsFile tensors(const std::string& name) const;
  std::string text(const std::string& name) const;
  // What such a file says in JSON. Throws CheckpointError naming the file, and the key that is wrong.
  template <DescribedStruct T>
  T read(const std::string& name) const {
    const std::string source = (directory_ / name).string();
    return read_fields<CheckpointError, T>(parse_json<CheckpointError>(text(name), source), source);
  }

 private:
  std::filesystem::path checked_path(const std::string& name) const;
  std::filesystem::path directory_;
  Manifest manifest_;
};

// Reads only the manifest; throws CheckpointError when there is none.
Manifest read_manifest(const std::filesystem::path& directory);

// Writes and syncs one file into a directory.
ManifestFile write_tensor_file(const std::filesystem::path& directory, const TensorFile& file);

// Files of a save that other processes write into its directory: called when that is there, returns when they are done.
using FilesOfOthers = std::function<std::vector<ManifestFile>(const std::filesystem::path& directory)>;

// Where a save writes, and what that is renamed to in the end: siblings.
struct CheckpointPaths {
  std::filesystem::path target;
  std::filesystem::path partial;
};

// A directory that exists for the time of a save. What an earlier, killed save left there is removed; what this one
// leaves is removed unless it was published.
class PartialCheckpoint {
 public:
  // Writes and syncs every file, the manifest last. Throws FileError, also when the disk is full.
  PartialCheckpoint(const CheckpointPaths& paths, int64_t step, int64_t saved, const CheckpointContents& contents,
                    const FilesOfOthers& others = nullptr);
  ~PartialCheckpoint();
  PartialCheckpoint(const PartialCheckpoint&) = delete;
  PartialCheckpoint& operator=(const PartialCheckpoint&) = delete;
  // The one moment at which the checkpoint begins to exist; `target` must not exist before.
  void publish();

 private:
  explicit PartialCheckpoint(CheckpointPaths paths);
  CheckpointPaths paths_;
};

// A checkpoint on its own, such as an import. Throws CheckpointError when `directory` exists already.
void write_checkpoint(const std::filesystem::path& directory, int64_t step, const CheckpointContents& contents);

}  // namespace segue
