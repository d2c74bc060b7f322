#include "core/checkpoint/checkpoint.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/unfinished_output.h"

namespace segue {

namespace {

namespace fs = std::filesystem;

void verify(const fs::path& path, const ManifestFile& expected) {
  if (!path_exists(path)) {
    throw CheckpointError("{}: missing, the manifest expects {} bytes", path.string(), expected.bytes);
  }
  const MappedFile file(path);
  if (static_cast<int64_t>(file.bytes().size()) != expected.bytes) {
    throw CheckpointError("{}: damaged: expected {} bytes, found {}", path.string(), expected.bytes,
                          file.bytes().size());
  }
  const std::string checksum = checksum_of(file.bytes());
  if (checksum != expected.checksum) {
    throw CheckpointError("{}: damaged: expected checksum {}, found {}", path.string(), expected.checksum, checksum);
  }
}

std::vector<ManifestFile> write_files(const fs::path& directory, const CheckpointContents& contents) {
  std::vector<ManifestFile> written;
  for (const TensorFile& file : contents.tensor_files) written.push_back(write_tensor_file(directory, file));
  for (const TextFile& file : contents.text_files) {
    write_file_atomically(directory / file.name, file.text);
    written.push_back(
        {file.name, static_cast<int64_t>(file.text.size()), checksum_of(std::as_bytes(std::span(file.text)))});
  }
  return written;
}

// "a/b/" names the same directory as "a/b", whose siblings lie in "a".
fs::path without_trailing_slash(const fs::path& directory) {
  return directory.has_filename() ? directory : directory.parent_path();
}

}  // namespace

ManifestFile write_tensor_file(const fs::path& directory, const TensorFile& file) {
  const WrittenFile result = write_safetensors(directory / file.name, file.tensors, file.metadata);
  return {file.name, result.bytes, result.checksum};
}

Manifest read_manifest(const fs::path& directory) {
  constexpr int64_t kLongest = int64_t{16} << 20;
  const fs::path path = directory / kManifestName;
  if (!path_exists(path)) throw CheckpointError("{}: missing, expected in every checkpoint", path.string());
  return parse_manifest(read_file(path, kLongest), path.string());
}

Checkpoint::Checkpoint(fs::path directory) : directory_(std::move(directory)), manifest_(read_manifest(directory_)) {
  for (const ManifestFile& file : manifest_.files) verify(directory_ / file.name, file);
}

bool Checkpoint::contains(std::string_view name) const {
  return std::any_of(manifest_.files.begin(), manifest_.files.end(),
                     [name](const ManifestFile& file) { return file.name == name; });
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const ManifestFile& file : manifest_.files) names.push_back(file.name);
  return names;
}

fs::path Checkpoint::checked_path(const std::string& name) const {
  if (!contains(name)) throw CheckpointError("{}: expected a checkpoint with {}", directory_.string(), name);
  return directory_ / name;
}

SafetensorsFile Checkpoint::tensors(const std::string& name) const { return SafetensorsFile(checked_path(name)); }

std::string Checkpoint::text(const std::string& name) const { return read_file(checked_path(name)); }

PartialCheckpoint::PartialCheckpoint(CheckpointPaths paths) : paths_(std::move(paths)) {
  remove_tree(paths_.partial);
  make_directories(paths_.partial);
}

// Delegates, so that the destructor cleans up after an exception in this body too.
PartialCheckpoint::PartialCheckpoint(const CheckpointPaths& paths, int64_t step, int64_t saved,
                                     const CheckpointContents& contents, const FilesOfOthers& others)
    : PartialCheckpoint(paths) {
  Manifest manifest{.step = step, .saved = saved, .files = write_files(paths_.partial, contents)};
  if (others) {
    for (ManifestFile& file : others(paths_.partial)) manifest.files.push_back(std::move(file));
  }
  write_file_atomically(paths_.partial / kManifestName, manifest_text(manifest));
}

// After publish() nothing is left under the partial name, and this does nothing.
PartialCheckpoint::~PartialCheckpoint() {
  std::error_code ignored;
  fs::remove_all(paths_.partial, ignored);
}

void PartialCheckpoint::publish() { rename_durably(paths_.partial, paths_.target); }

void write_checkpoint(const fs::path& directory, int64_t step, const CheckpointContents& contents) {
  if (path_exists(directory)) throw CheckpointError("{}: exists already", directory.string());
  const fs::path target = without_trailing_slash(directory);
  const fs::path partial = target.parent_path() / fmt::format(".{}.partial", target.filename().string());
  UnfinishedOutput output(partial, target);
  PartialCheckpoint checkpoint({.target = target, .partial = partial}, step, 0, contents);
  output.publish([&checkpoint] { checkpoint.publish(); });
}

}  // namespace segue
