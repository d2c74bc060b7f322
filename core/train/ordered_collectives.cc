// Fences between two streams, or a wait.
#include "core/train/ordered_collectives.h"

namespace segue {

void OrderedCollectives::run(const std::function<void(Communicator&)>& collectives) {
  if (communicator_.stream() == nullptr) {
    stream_.synchronize();
    return collectives(communicator_);
  }
  fork();
  collectives(communicator_);
  join();
}

void OrderedCollectives::fork() {
  forked_.set(stream_.cuda().stream());
  forked_.hold(communicator_.stream());
}

void OrderedCollectives::join() {
  joined_.set(communicator_.stream());
  joined_.hold(stream_.cuda().stream());
}

}  // namespace segue
