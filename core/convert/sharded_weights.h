// Weights in several safetensors files, with a list of which tensor lies in which.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/convert/weight_file.h"

namespace segue {

using ShardList = std::map<std::string, std::set<std::string>>;  // the tensors of each file

// The list as text; `source` stands for it in messages.
ShardList parse_shard_list(std::string_view text, const std::string& source);

// Reads a list, `{"weight_map": {"tensor": "file"}}`, and every file that it names, which lie beside it. Throws
// CheckpointError naming the list or the file: no such list, a file elsewhere, tensors that a file lacks or that the
// list does not name.
std::unique_ptr<const WeightFile> open_shards(const std::filesystem::path& list);

}  // namespace segue
