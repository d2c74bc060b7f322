// Where the sources lie, for tests that read the repository's own configs.
#pragma once

#include <filesystem>

namespace segue {

std::filesystem::path source_directory();

}  // namespace segue
