// The file of an extension before it is loaded: a reader of the one section of an ELF file that says what it is.
#pragma once

#include <filesystem>
#include <string>

namespace segue {

// What the file says of itself.
struct ExtensionStamp {
  std::string name;   // letters, digits and low lines
  std::string build;  // what it was built for
};

// Reads no more than a few tables of the file, and runs nothing of it. Throws FileError where it cannot be read, and
// ConfigError naming it where it is no shared library for x86-64, or has no stamp, or one that is none.
ExtensionStamp read_extension_stamp(const std::filesystem::path& path);

}  // namespace segue
