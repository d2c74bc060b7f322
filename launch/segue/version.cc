// The only file that is compiled again for another commit.
#include "launch/segue/version.h"

#include "launch/segue/commit.h"

namespace segue {

std::string program_version() {
  const std::string commit = SEGUE_COMMIT;
  return commit.empty() ? SEGUE_VERSION : SEGUE_VERSION " (" + commit + ")";
}

}  // namespace segue
