// The two kinds of file behind one interface.
#include "core/convert/weight_file.h"

#include <array>
#include <string_view>

#include "base/file.h"
#include "core/checkpoint/safetensors.h"
#include "core/convert/npz_file.h"

namespace segue {

namespace {

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

bool is_zip(const std::filesystem::path& path) {
  std::array<std::byte, 4> block{};
  const std::span<const std::byte> begin = FileReader(path).read(block);
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  return text == "PK\x03\x04" || text == "PK\x05\x06";  // the second: without members
}

}  // namespace

std::unique_ptr<const WeightFile> open_weight_file(const std::filesystem::path& path) {
  if (is_zip(path)) return std::make_unique<NpzFile>(path);
  return std::make_unique<SafetensorsWeights>(path);
}

}  // namespace segue
