// Mutated manifests of datasets: what reads is consistent and is what would be written, anything else a DataError in
// one printable line.
#include <string_view>

#include "base/error.h"
#include "data_pipeline/dataset_manifest.h"
#include "tests/fuzz/demand.h"

namespace {

void demand_consistent(const segue::DatasetManifest& manifest) {
  segue::demand(manifest.tokenizer.vocabulary <= segue::largest_vocabulary(manifest.token_type));
  for (const segue::SplitInfo& split : manifest.splits) {
    int64_t tokens = 0;
    for (const segue::ShardInfo& shard : split.shards) {
      segue::demand(!shard.file.empty() && shard.file.find('/') == std::string::npos && shard.file[0] != '.');
      tokens += shard.tokens;
    }
    segue::demand(tokens == split.tokens && tokens > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const segue::DatasetManifest manifest = segue::parse_dataset_manifest(text, "fuzz");
    demand_consistent(manifest);
    const std::string written = segue::dataset_manifest_text(manifest);
    segue::demand(segue::dataset_manifest_text(segue::parse_dataset_manifest(written, "fuzz")) == written);
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what());
  }
  return 0;
}
