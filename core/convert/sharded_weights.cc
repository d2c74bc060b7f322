// Nothing of the list is believed before the files have been looked at.
#include "core/convert/sharded_weights.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "core/checkpoint/safetensors.h"

namespace segue {

namespace {

constexpr int64_t kLargestList = int64_t{16} << 20;
constexpr size_t kMostFiles = 1024;
constexpr size_t kLongestShardTensor = 200;

}  // namespace

ShardList parse_shard_list(std::string_view text, const std::string& source) {
  const Json list = parse_json<CheckpointError>(text, source);
  const auto map = list.is_object() ? list.find("weight_map") : list.end();
  if (map == list.end() || !map->is_object() || map->empty())
    throw CheckpointError("{}: expected a list of shards with a weight_map from tensors to files, found {}", source,
                          describe_json(list));
  ShardList shards;
  for (const auto& [name, file] : map->items()) {
    const std::string where = join_json_path("weight_map", name);
    if (!file.is_string())
      throw CheckpointError("{}: {}: expected a file, found {}", source, where, describe_json(file));
    const auto& file_name = file.get_ref<const std::string&>();
    if (file_name.empty() || file_name == "." || file_name == ".." || file_name.find('/') != std::string::npos)
      throw CheckpointError("{}: {}: expected a file beside the list, found {}", source, where, describe_json(file));
    if (!file_name.ends_with(".safetensors"))
      throw CheckpointError("{}: {}: expected a .safetensors file, found {}{}", source, where, describe_json(file),
                            file_name.ends_with(".bin") ? "; launch/convert/convert_torch.py reads the list" : "");
    shards[file_name].insert(name);
  }
  if (shards.size() > kMostFiles)
    throw CheckpointError("{}: expected at most {} files, found {}", source, kMostFiles, shards.size());
  return shards;
}

namespace {

class ShardedWeights : public WeightFile {
 public:
  explicit ShardedWeights(const std::filesystem::path& list) : source_(list.string()) {
    for (const auto& [file_name, tensors] : parse_shard_list(read_file(list, kLargestList), source_)) {
      auto file = std::make_unique<const SafetensorsFile>(list.parent_path() / file_name);
      for (const std::string& name : file->names())
        if (!tensors.contains(name))
          throw CheckpointError("{}: holds a tensor {}, which {} does not name there", file->source(),
                                printable_line(name, kLongestShardTensor), list.filename().string());
      for (const std::string& name : tensors) {
        static_cast<void>(file->tensor(name));  // refuses what is not there
        files_of_.emplace(name, file.get());
      }
      files_.push_back(std::move(file));
    }
  }

  const std::string& source() const override { return source_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, file] : files_of_) names.push_back(name);
    return names;
  }
  bool contains(const std::string& name) const override { return files_of_.contains(name); }
  Shape shape(const std::string& name) const override { return tensor(name).shape; }
  HostTensor read(const std::string& name) const override { return {tensor(name), Device{}}; }

 private:
  ConstTensorView tensor(const std::string& name) const {
    const auto found = files_of_.find(name);
    if (found != files_of_.end()) return found->second->tensor(name);
    std::vector<std::string_view> candidates;
    for (const auto& [known, file] : files_of_) candidates.emplace_back(known);
    const std::string_view nearest = nearest_word(name, candidates);
    throw CheckpointError("{}: expected a tensor {}, found {}{}", source_, name,
                          counted(std::ssize(candidates), "other"),
                          nearest.empty() ? "" : fmt::format(", the nearest {}", nearest));
  }

  std::string source_;
  std::vector<std::unique_ptr<const SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsFile*> files_of_;
};

}  // namespace

std::unique_ptr<const WeightFile> open_shards(const std::filesystem::path& list) {
  return std::make_unique<ShardedWeights>(list);
}

}  // namespace segue
