// Collectives slowed down to the speed of a given link, which show on one machine how much time overlap hides.
#pragma once

#include "distributed/collectives.h"

namespace segue {

class SlowLink : public Collectives {
 public:
  // Each rank of `fast` sends and receives at most `bytes_per_second`; a sum takes `latency_seconds` more. `fast`
  // finishes its collectives in their calls, and outlives the link.
  SlowLink(Collectives& fast, double bytes_per_second, double latency_seconds);

  const char* name() const override { return fast_.name(); }
  void all_reduce(TensorView values) override;
  void reduce_scatter(ConstTensorView values, TensorView my_part) override;
  void all_gather(ConstTensorView my_part, TensorView values) override;

 private:
  void carry(int64_t bytes, int times) const;

  Collectives& fast_;
  double bytes_per_second_;
  double latency_seconds_;
};

}  // namespace segue
