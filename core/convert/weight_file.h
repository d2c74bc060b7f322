// Named tensors of another program: in safetensors files, or in NumPy's .npz.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/tensor.h"

namespace segue {

class WeightFile {
 public:
  virtual ~WeightFile() = default;
  WeightFile() = default;
  WeightFile(const WeightFile&) = delete;
  WeightFile& operator=(const WeightFile&) = delete;

  virtual const std::string& source() const = 0;
  virtual std::vector<std::string> names() const = 0;  // in alphabetical order
  virtual bool contains(const std::string& name) const = 0;
  // The two below throw CheckpointError naming the nearest tensor when there is none of this name.
  virtual Shape shape(const std::string& name) const = 0;
  virtual HostTensor read(const std::string& name) const = 0;
  virtual std::vector<std::string> notes() const { return {}; }  // of what was left out
};

// A file, whose first bytes say which of the two it is; a list of shards, `model.safetensors.index.json`; or a
// directory that holds one of them. Names are those of the model, without wrappers (wrapped_names.h). Throws FileError,
// CheckpointError for a malformed file and for files that are not read (unsupported_weight_files.h).
std::unique_ptr<const WeightFile> open_weight_file(const std::filesystem::path& path);

}  // namespace segue
