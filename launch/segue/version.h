// The name and version of the program.
#pragma once

#include <string>

namespace segue {

// "segue 1.2.3 (d72abaa1c0de)": with the commit, and "-dirty" where files differed from it; an archive of the sources
// has none.
std::string program_version();

}  // namespace segue
