// Which level of the processor a test's streams are to use.
#pragma once

#include <cstdlib>

namespace segue::kernels {

// Sets the variable for as long as it lives.
class AskedLevel {
 public:
  explicit AskedLevel(const char* level) { setenv("SEGUE_CPU_LEVEL", level, 1); }
  ~AskedLevel() { unsetenv("SEGUE_CPU_LEVEL"); }
  AskedLevel(const AskedLevel&) = delete;
  AskedLevel& operator=(const AskedLevel&) = delete;
};

}  // namespace segue::kernels
