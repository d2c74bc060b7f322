#include "launch/segue/shared_processors.h"

#include <omp.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/cpu_quota.h"

namespace segue {
namespace {

constexpr const char* kAsks = "1000";  // of 15 ns to 60 ns each, from one processor to another

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Where the loader was called with the program as its argument, what the system would start again is the loader.
bool is_started_by_the_system() { return getauxval(AT_BASE) != 0; }

}  // namespace

void wait_briefly(char** argv) {
  if (is_set("OMP_WAIT_POLICY") || is_set("GOMP_SPINCOUNT") || !is_started_by_the_system()) return;
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed || setenv("GOMP_SPINCOUNT", kAsks, 0) != 0) return;
  execv(program.c_str(), argv);  // returns only where it fails
}

void choose_threads() {
  if (is_set("OMP_NUM_THREADS")) return;
  if (const std::optional<int> quota = cpu_quota()) omp_set_num_threads(std::min(omp_get_max_threads(), *quota));
}

}  // namespace segue
