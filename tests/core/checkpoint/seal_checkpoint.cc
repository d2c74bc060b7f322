// Gives checkpoint directories manifests that vouch for what lies in them, as whoever makes up a checkpoint would.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "core/checkpoint/checkpoint.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path directory = argv[i];
    segue::Manifest manifest = segue::read_manifest(directory);
    manifest.files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      if (name == segue::kManifestName) continue;
      const std::string text = segue::read_file(entry.path());
      manifest.files.push_back(
          {name, static_cast<int64_t>(text.size()), segue::checksum_of(std::as_bytes(std::span(text)))});
    }
    std::sort(manifest.files.begin(), manifest.files.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    segue::write_file_atomically(directory / segue::kManifestName, segue::manifest_text(manifest));
  }
}
