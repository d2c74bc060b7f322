// Sleeps as long as a ring of ranks would send.
#include "core/bench/slow_link.h"

#include <chrono>
#include <thread>

#include "base/error.h"

namespace segue {

SlowLink::SlowLink(Collectives& fast, double bytes_per_second, double latency_seconds)
    : Collectives(fast.rank(), fast.size()),
      fast_(fast),
      bytes_per_second_(bytes_per_second),
      latency_seconds_(latency_seconds) {
  if (fast.stream() != nullptr) throw UsageError("bench: a link that the GPU drives cannot be slowed down");
}

// In a ring every rank sends (size - 1) / size of the bytes: once to scatter or to gather them, twice for both.
void SlowLink::carry(int64_t bytes, int times) const {
  const double ranks = size();
  const double sent = times * static_cast<double>(bytes) * (ranks - 1.0) / ranks;
  std::this_thread::sleep_for(std::chrono::duration<double>(latency_seconds_ + sent / bytes_per_second_));
}

void SlowLink::all_reduce(TensorView values) {
  fast_.all_reduce(values);
  carry(values.bytes(), 2);
}

void SlowLink::reduce_scatter(ConstTensorView values, TensorView my_part) {
  fast_.reduce_scatter(values, my_part);
  carry(values.bytes(), 1);
}

void SlowLink::all_gather(ConstTensorView my_part, TensorView values) {
  fast_.all_gather(my_part, values);
  carry(values.bytes(), 1);
}

}  // namespace segue
