// On a GPU fences order the two CUDA streams. On the CPU the queue is waited for.
#include "core/optimizer/ordered_collectives.h"

namespace segue {

void OrderedCollectives::run(const std::function<void(Collectives&)>& calls) {
  if (collectives_.stream() == nullptr) {
    queue_.synchronize();
    return calls(collectives_);
  }
  fork();
  calls(collectives_);
  join();
}

void OrderedCollectives::fork() {
  forked_.set(queue_.cuda().stream());
  forked_.hold(collectives_.stream());
}

void OrderedCollectives::join() {
  joined_.set(collectives_.stream());
  joined_.hold(queue_.cuda().stream());
}

}  // namespace segue
