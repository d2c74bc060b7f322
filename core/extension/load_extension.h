// Loads extensions. The program calls it with what its user typed behind --extension, and nothing else does: no config,
// checkpoint or dataset, and no variable of the environment, makes the program load code.
#pragma once

#include <filesystem>
#include <string>

namespace segue {

// Adds the kinds of the extension in this file, which stays loaded as long as the program runs. Call it before anything
// asks for kinds, by one thread.
//
// Throws before anything of the file runs: FileError where it cannot be read; ConfigError naming it where it is no
// extension, was built for another build of Segue, or has the name of one that is loaded. Throws ConfigError behind
// that where the system cannot load it, or where its kinds cannot be added.
void load_extension(const std::filesystem::path& path);

// What an extension is built for that this program loads: one line.
std::string extension_build();

}  // namespace segue
