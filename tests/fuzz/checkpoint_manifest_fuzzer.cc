// Mutated manifests of checkpoints: what reads is what would be written, anything else a CheckpointError in one line.
// A mutated manifest hardly keeps its seal, so every input is also tried as the text of one file's name under a new
// one.

#include "base/error.h"
#include "core/checkpoint/manifest.h"
#include "tests/fuzz/demand.h"

namespace {

void try_text(std::string_view text) {
  try {
    const segue::Manifest manifest = segue::parse_manifest(text, "fuzz");
    const std::string written = segue::manifest_text(manifest);
    segue::demand(segue::manifest_text(segue::parse_manifest(written, "fuzz")) == written);
    for (const segue::ManifestFile& file : manifest.files) {
      segue::demand(file.bytes >= 0 && !file.name.empty() && file.name.find('/') == std::string::npos &&
                    file.name[0] != '.');
    }
  } catch (const segue::CheckpointError& error) {
    segue::demand_message(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_text(text);
  try_text(segue::manifest_text({.step = 1, .saved = 1, .files = {{text, 1, "xxh3:0"}}}));
  return 0;
}
