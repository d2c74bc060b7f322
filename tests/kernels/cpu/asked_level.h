// Which level of the processor a test's streams are to use.
#pragma once

#include <cstdlib>
#include <string>

namespace segue::kernels {

// Sets the variable for as long as it lives.
class AskedLevel {
 public:
  explicit AskedLevel(const char* level) {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    setenv(kVariable, level, 1);
  }
  ~AskedLevel() { before_.empty() ? unsetenv(kVariable) : setenv(kVariable, before_.c_str(), 1); }
  AskedLevel(const AskedLevel&) = delete;
  AskedLevel& operator=(const AskedLevel&) = delete;

 private:
  static constexpr const char* kVariable = "SEGUE_CPU_LEVEL";
  std::string before_;
};

}  // namespace segue::kernels
