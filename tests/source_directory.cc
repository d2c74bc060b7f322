#include "tests/source_directory.h"

namespace segue {

std::filesystem::path source_directory() { return SEGUE_SOURCE_DIR; }

}  // namespace segue
