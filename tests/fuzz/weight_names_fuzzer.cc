// Mutated lists of shards, and mutated names of tensors: what is asked for, or a CheckpointError in one printable line.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/convert/sharded_weights.h"
#include "core/convert/wrapped_names.h"
#include "tests/fuzz/demand.h"

namespace {

void try_list(std::string_view text) {
  const segue::ShardList list = segue::parse_shard_list(text, "fuzz");
  segue::demand(!list.empty());
  for (const auto& [file, tensors] : list) {
    segue::demand(!tensors.empty() && file.ends_with(".safetensors"));
    segue::demand(file.find('/') == std::string::npos);
  }
}

// Each name comes back once, and is no longer than it was.
void try_names(std::string_view text) {
  std::set<std::string> names;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    names.emplace(text.substr(begin, end - begin));
  }
  const segue::UnwrappedNames unwrapped = segue::unwrapped_names({names.begin(), names.end()}, "fuzz");
  std::set<std::string> found;
  for (const auto& [name, in_file] : unwrapped.in_file) {
    segue::demand(name.size() <= in_file.size());
    found.insert(in_file);
  }
  segue::demand(found == names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    text.starts_with('{') ? try_list(text) : try_names(text);
  } catch (const segue::CheckpointError& error) {
    segue::demand_message(error.what());
  }
  return 0;
}
