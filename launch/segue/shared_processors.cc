#include "launch/segue/shared_processors.h"

#include <omp.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/cpu_quota.h"
#include "base/text.h"

namespace segue {
namespace {

constexpr const char* kAsks = "1000";  // of 15 ns to 60 ns each, from one processor to another

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Where the loader was called with the program as its argument, what the system would start again is the loader.
bool is_started_by_the_system() { return getauxval(AT_BASE) != 0; }

// A number, or several for the levels of regions within regions.
bool says_threads(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view number = text.substr(0, comma);
    number.remove_prefix(std::min(number.find_first_not_of(" \t"), number.size()));
    number = number.substr(0, number.find_last_not_of(" \t") + 1);
    const bool is_number = !number.empty() && number.size() <= kMostDigits &&
                           number.find_first_not_of("0123456789") == std::string_view::npos &&
                           number.find_first_not_of('0') != std::string_view::npos;
    if (!is_number || comma == std::string_view::npos) return is_number;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

void drop_wrong_threads() {
  constexpr const char* kThreads = "OMP_NUM_THREADS";
  const char* const found = std::getenv(kThreads);
  if (found == nullptr || says_threads(found)) return;
  static_cast<void>(std::fprintf(stderr,
                                 "segue: %s: expected a number of threads, such as 4, found \"%s\"; taken as not set: "
                                 "as many threads as processors\n",
                                 kThreads, visible_line(found).c_str()));
  unsetenv(kThreads);
}

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
