// A small checkpoint whose every file shows which save it came from.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint.h"

namespace segue {

// Two tensor files and a text file, all filled with `value`. The contents view its memory.
class SampleCheckpoint {
 public:
  explicit SampleCheckpoint(float value, size_t elements = 100) : data_(elements, value) {
    const ConstTensorView view = view_of(data_.data(), {static_cast<int64_t>(elements)});
    contents_.tensor_files = {{"weights.safetensors", {{"w", view}}, {}}, {"memory.safetensors", {{"m", view}}, {}}};
    contents_.text_files = {{"state.json", std::to_string(value)}};
  }
  const CheckpointContents& contents() const { return contents_; }

 private:
  std::vector<float> data_;
  CheckpointContents contents_;
};

// The value all files agree on; throws when the checkpoint is not whole. NaN when they disagree.
inline float value_of(const Checkpoint& checkpoint) {
  const SafetensorsFile weights = checkpoint.tensors("weights.safetensors");
  const SafetensorsFile memory = checkpoint.tensors("memory.safetensors");
  const float value = weights.tensor("w").as<float>()[0];
  const bool agree =
      memory.tensor("m").as<float>()[0] == value && checkpoint.text("state.json") == std::to_string(value);
  return agree ? value : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace segue
