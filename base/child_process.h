// A program that this one starts and waits for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace segue {

struct ProcessEnd {
  int code = 0;            // its exit code; 128 and the signal that ended it, as shells have it
  int64_t peak_bytes = 0;  // most memory that it or a process it waited for held at once
};

// Where what the program prints goes; its errors go where those of this one go.
enum class ChildOutput : uint8_t { kShared, kNone };

class ChildProcess {
 public:
  // Starts the first word, looked for on PATH, with the others as arguments. It has a process group of its own, so that
  // a terminal's signals reach it only if they are passed on, and is sent SIGINT when this process ends before it.
  // Throws FileError when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& words, ChildOutput output = ChildOutput::kShared);
  ~ChildProcess();  // ends it, unless it has ended
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void send(int signal) const;
  std::optional<ProcessEnd> ended();  // none: it runs

 private:
  pid_t process_ = -1;
  std::optional<ProcessEnd> end_ = {};
};

}  // namespace segue
