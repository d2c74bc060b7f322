// Measures the FLOP/s that a processor or GPU reaches in matrix products. A run's `mfu` is a share of it.
#pragma once

#include <functional>
#include <optional>

#include "base/tensor.h"
#include "distributed/job.h"
#include "kernels/queue.h"

namespace segue {

// Floating point operations per second of a product of matrices of 1024 by 1024, or on a GPU of 8192 by 8192 or the
// first that takes it a millisecond; the best of a few within some hundredths of a second.
double measure_peak_rate(kernels::Queue& queue, DType dtype);

// The rate that the ranks of a job reach together. Every rank calls the same.
class JobPeak {
 public:
  // `measure_rank` gives this rank's rate in FLOP/s.
  JobPeak(Job& job, std::function<double()> measure_rank) : job_(job), measure_rank_(std::move(measure_rank)) {}

  void measure();
  // `reached`: FLOP/s of all ranks. A peak that steps exceed is none: something else ran while it was measured. Then it
  // is measured again, or without `again` (a GPU's memory is taken by the run) taken to be what steps reached.
  void correct(double reached, bool again);
  // `reached`, in FLOP/s of all ranks, as a share of the peak; none before it is measured.
  std::optional<double> share(double reached) const;

 private:
  Job& job_;
  std::function<double()> measure_rank_;
  double rate_ = 0.0;
};

}  // namespace segue
