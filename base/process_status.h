// What this process is doing and how much work it has done. Ranks report this to each other while one waits for
// another. A counter moves with every piece of work, which tells a slow process from one that is stuck.
#pragma once

#include <cstdint>
#include <list>
#include <string>

namespace segue {

// Call it after every piece of work. A piece should take no longer than seconds on a slow file system.
void note_progress() noexcept;

// While one exists, the process reports `what` as its activity: "syncing runs/books/...". The one made last hides the
// others.
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
