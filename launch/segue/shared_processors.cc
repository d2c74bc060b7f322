#include "launch/segue/shared_processors.h"

#include <omp.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/cpu_quota.h"
#include "base/error.h"
#include "base/text.h"
#include "core/config/bounds.h"

namespace segue {
namespace {

constexpr const char* kAsks = "1000";  // of 15 ns to 60 ns each, from one processor to another

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Where the loader was called with the program as its argument, what the system would start again is the loader.
bool is_started_by_the_system() { return getauxval(AT_BASE) != 0; }

// The numbers of threads that a text holds, one or several for the levels of regions within regions; nothing where it
// holds anything else. What is too large to be read is as large as it can be.
std::optional<std::vector<int64_t>> threads_in(std::string_view text) {
  constexpr size_t kMostDigits = 18;
  std::vector<int64_t> numbers;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(" \t"), word.size()));
    word = word.substr(0, word.find_last_not_of(" \t") + 1);
    if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    word.remove_prefix(std::min(word.find_first_not_of('0'), word.size()));
    if (word.empty()) return std::nullopt;
    int64_t number = std::numeric_limits<int64_t>::max();
    if (word.size() <= kMostDigits) std::from_chars(word.data(), word.data() + word.size(), number);
    numbers.push_back(number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

void check_threads_variable() {
  constexpr const char* kThreads = "OMP_NUM_THREADS";
  const char* const found = std::getenv(kThreads);
  if (found == nullptr) return;
  if (const std::optional<std::vector<int64_t>> numbers = threads_in(found)) {
    constexpr auto kMost = static_cast<int64_t>(kMostThreads);
    if (std::ranges::max(*numbers) > kMost)
      throw UsageError("{}: expected an integer >= 1 and <= {}, found \"{}\"", kThreads, kMost, found);
    return;
  }
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
