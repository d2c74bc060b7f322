// Recognises weight files that Segue cannot read, names their format, and says what to do with them.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace segue {

// Throws CheckpointError "<path>: expected safetensors or .npz, found <what it is>; <what to do>" for the files of
// torch.save, GGUF, ONNX, Keras, Flax, TensorFlow and others, by their first bytes and their names.
void refuse_unsupported_weight_files(const std::filesystem::path& path);

// The same of a directory, by the names in it.
void refuse_unsupported_directory(const std::filesystem::path& path, std::span<const std::string> names);

}  // namespace segue
