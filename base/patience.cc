// Polls without a pause first, then yields, then sleeps.
#include "base/patience.h"

#include <chrono>
#include <thread>

namespace segue {

void Patience::wait() {
  constexpr int kEager = 100;
  constexpr int kYielding = 20000;
  ++looks_;
  if (looks_ < kEager) return;
  if (looks_ < kYielding) return std::this_thread::yield();
  looks_ = kYielding;  // counting on would overflow within a day
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void wait_until(const std::function<bool()>& is_done, const Watch& watch) {
  const auto start = std::chrono::steady_clock::now();
  for (Patience patience; !is_done(); patience.wait())
    watch(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace segue
