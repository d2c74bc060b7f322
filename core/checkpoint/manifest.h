// The manifest of a checkpoint: its step, its files, and how to tell that they are whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"

namespace segue {

inline constexpr std::string_view kManifestName = "manifest.json";

// Of a checkpoint that a newer version of the program has saved.
class NewerCheckpointError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

struct ManifestFile {
  std::string name;  // in the checkpoint's directory itself
  int64_t bytes = 0;
  std::string checksum;
  void describe(JsonFields& fields);
};

struct Manifest {
  int64_t step = 0;   // optimizer steps done
  int64_t saved = 0;  // counts the saves of a run: their order also when it went back to an earlier step
  std::vector<ManifestFile> files;
};

// The file's text: `format`, `version`, the members above, and a checksum over all of them.
std::string manifest_text(const Manifest& manifest);

// The checksum in that text: tells a checkpoint from any other, whatever directory it lies in.
std::string checksum_of(const Manifest& manifest);

// Throws CheckpointError naming `source` and the key for anything but what manifest_text writes, white space aside:
// also for a file name that leaves the directory or appears twice, and for content that does not match the checksum. It
// is a NewerCheckpointError where the version of the format is a newer one.
Manifest parse_manifest(std::string_view text, const std::string& source);

}  // namespace segue
