// A communicator whose sums take as long as over a slower link: what overlap hides can be seen on one machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/communicator.h"

namespace segue {

class SlowLink : public Communicator {
 public:
  // Each rank of `fast` sends and receives at most `bytes_per_second`; a sum takes `latency_seconds` more. `fast`
  // finishes its collectives in their calls, and outlives the link.
  SlowLink(Communicator& fast, double bytes_per_second, double latency_seconds);

  int rank() const override { return fast_.rank(); }
  int size() const override { return fast_.size(); }
  int local_rank() const override { return fast_.local_rank(); }
  const char* name() const override { return fast_.name(); }
  std::string host() const override { return fast_.host(); }
  void all_reduce(TensorView values) override;
  void reduce_scatter(ConstTensorView values, TensorView my_part) override;
  void all_gather(ConstTensorView my_part, TensorView values) override;
  void barrier() override { fast_.barrier(); }
  void allow_long_work(bool allowed) override { fast_.allow_long_work(allowed); }
  void sum(std::span<double> values) override { fast_.sum(values); }
  std::vector<std::string> gather(std::string_view mine) override { return fast_.gather(mine); }
  void at_step(int64_t step) override { fast_.at_step(step); }
  void abort(int exit_code) noexcept override { fast_.abort(exit_code); }

 private:
  void carry(int64_t bytes, int times) const;

  Communicator& fast_;
  double bytes_per_second_;
  double latency_seconds_;
};

}  // namespace segue
