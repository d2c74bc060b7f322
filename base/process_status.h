// This process's current activity and progress, which ranks report to each other while one waits for another. A counter
// moves with every piece of work, so that a process that is alive but stuck can be told from a slow one.
#pragma once

#include <cstdint>
#include <list>
#include <string>

namespace segue {

// To be called by whoever works, after every piece that takes no longer than seconds on a slow file system.
void note_progress() noexcept;

// While one exists, `what` is what the process does: "syncing runs/books/...". The one made last hides the others.
class ScopedActivity {
 public:
  explicit ScopedActivity(std::string what);
  ~ScopedActivity();
  ScopedActivity(const ScopedActivity&) = delete;
  ScopedActivity& operator=(const ScopedActivity&) = delete;

 private:
  std::list<std::string>::iterator place_;
};

struct ProcessStatus {
  uint64_t progress = 0;  // pieces of work done so far
  std::string activity;   // empty: nothing that has a name
};
ProcessStatus current_process_status();

}  // namespace segue
