// Polls what does not report that it is done: without a pause at first, later now and then.
#pragma once

#include <functional>

namespace segue {

// Looks again at once for a while, then leaves the processor to others.
class Patience {
 public:
  void wait();

 private:
  int looks_ = 0;
};

// Hears how long a wait has lasted so far, and may throw to end it.
using Watch = std::function<void(double seconds_waited)>;

void wait_until(const std::function<bool()>& is_done, const Watch& watch);

}  // namespace segue
