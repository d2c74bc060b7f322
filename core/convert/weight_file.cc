#include "core/convert/weight_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "core/checkpoint/safetensors.h"
#include "core/convert/npz_file.h"
#include "core/convert/sharded_weights.h"
#include "core/convert/unsupported_weight_files.h"
#include "core/convert/wrapped_names.h"

namespace segue {

namespace {

constexpr std::string_view kListEnd = ".safetensors.index.json";
constexpr size_t kLongestPrefixShown = 100;

class SafetensorsWeights : public WeightFile {
 public:
  explicit SafetensorsWeights(const std::filesystem::path& path) : file_(path) {}
  const std::string& source() const override { return file_.source(); }
  std::vector<std::string> names() const override { return file_.names(); }
  bool contains(const std::string& name) const override { return file_.contains(name); }
  Shape shape(const std::string& name) const override { return file_.tensor(name).shape; }
  HostTensor read(const std::string& name) const override { return {file_.tensor(name), Device{}}; }

 private:
  SafetensorsFile file_;
};

// Another file's tensors under the names of the model.
class UnwrappedWeights : public WeightFile {
 public:
  UnwrappedWeights(std::unique_ptr<const WeightFile> file, UnwrappedNames names)
      : file_(std::move(file)), names_(std::move(names)) {}
  const std::string& source() const override { return file_->source(); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, in_file] : names_.in_file) names.push_back(name);
    return names;
  }
  bool contains(const std::string& name) const override { return names_.in_file.contains(name); }
  Shape shape(const std::string& name) const override { return file_->shape(in_file(name)); }
  HostTensor read(const std::string& name) const override { return file_->read(in_file(name)); }
  std::vector<std::string> notes() const override {
    return {fmt::format("{}: names without {}", source(), printable_line(names_.left_out, kLongestPrefixShown))};
  }

 private:
  const std::string& in_file(const std::string& name) const {
    const auto found = names_.in_file.find(name);
    if (found != names_.in_file.end()) return found->second;
    std::vector<std::string_view> candidates;
    for (const auto& [known, in_file] : names_.in_file) candidates.emplace_back(known);
    const std::string_view nearest = nearest_word(name, candidates);
    throw CheckpointError("{}: expected a tensor {}, found {}{}", source(), name,
                          counted(std::ssize(candidates), "other"),
                          nearest.empty() ? "" : fmt::format(", the nearest {}", nearest));
  }

  std::unique_ptr<const WeightFile> file_;
  UnwrappedNames names_;
};

bool is_zip(const std::filesystem::path& path) {
  std::array<std::byte, 4> block{};
  const std::span<const std::byte> begin = FileReader(path).read(block);
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  return text == "PK\x03\x04" || text == "PK\x05\x06";  // the second: without members
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  constexpr size_t kMostNames = 100000;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (names.size() < kMostNames) names.push_back(entry->path().filename().string());
  if (error) throw FileError("{}: cannot read the directory: {}", directory.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// A list of shards, or the only file of weights.
std::filesystem::path file_in(const std::filesystem::path& directory) {
  const std::vector<std::string> names = names_in(directory);
  std::vector<std::string> lists;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (name.ends_with(kListEnd)) lists.push_back(name);
    if (name.ends_with(".safetensors") || name.ends_with(".npz")) files.push_back(name);
  }
  if (lists.size() == 1) return directory / lists.front();
  if (lists.empty() && files.size() == 1) return directory / files.front();
  if (lists.empty() && files.empty()) refuse_unsupported_directory(directory, names);
  throw CheckpointError(
      "{}: expected a directory with one list of shards (model{}) or one file of weights, found {} and {}",
      directory.string(), kListEnd, lists.size(), files.size());
}

std::unique_ptr<const WeightFile> open_as_it_is(const std::filesystem::path& path) {
  if (path.string().ends_with(".json")) return open_shards(path);
  refuse_unsupported_weight_files(path);
  if (is_zip(path)) return std::make_unique<NpzFile>(path);
  return std::make_unique<SafetensorsWeights>(path);
}

}  // namespace

std::unique_ptr<const WeightFile> open_weight_file(const std::filesystem::path& path) {
  std::error_code ignored;  // opening it says what is wrong
  const bool is_directory = std::filesystem::is_directory(path, ignored);
  std::unique_ptr<const WeightFile> file = open_as_it_is(is_directory ? file_in(path) : path);
  UnwrappedNames names = unwrapped_names(file->names(), file->source());
  if (names.left_out.empty()) return file;
  return std::make_unique<UnwrappedWeights>(std::move(file), std::move(names));
}

}  // namespace segue
