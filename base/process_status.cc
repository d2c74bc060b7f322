#include "base/process_status.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace segue {

namespace {

std::atomic<uint64_t> pieces_done = 0;

struct Names {
  std::mutex mutex;
  std::list<std::string> names;
};

Names& names() {
  static Names all;
  return all;
}

}  // namespace

void note_progress() noexcept { pieces_done.fetch_add(1, std::memory_order_relaxed); }

ScopedActivity::ScopedActivity(std::string what) {
  note_progress();
  const std::lock_guard lock(names().mutex);
  place_ = names().names.insert(names().names.end(), std::move(what));
}

ScopedActivity::~ScopedActivity() {
  note_progress();
  const std::lock_guard lock(names().mutex);
  names().names.erase(place_);
}

ProcessStatus current_process_status() {
  const std::lock_guard lock(names().mutex);
  return {.progress = pieces_done.load(std::memory_order_relaxed),
          .activity = names().names.empty() ? "" : names().names.back()};
}

}  // namespace segue
