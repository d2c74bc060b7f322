// How long files of some formats say that they are, so that one that was cut off is told from one that is whole.
#pragma once

#include <filesystem>
#include <string>

namespace segue {

// "; it is cut off: 100 bytes of 1234" of an HDF5 or safetensors file that is shorter than it says; else "".
std::string describe_cut(const std::filesystem::path& path);

}  // namespace segue
