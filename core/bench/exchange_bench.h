// Times what several ranks add to a training step: the sum of the gradients, after backward or during it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bench/report.h"
#include "core/bench/workbench.h"
#include "core/config/config.h"
#include "distributed/collectives.h"
#include "distributed/job.h"

namespace segue {

struct ExchangeBench {
  std::vector<Measurement> measurements;  // of this rank
  int64_t parameters = 0;
  int64_t buckets = 0;
  // The share of the time of sums in a step that the step waited for them.
  double exposed_afterwards = 0.0;
  double exposed_meanwhile = 0.0;
};

// Called by all ranks, of which there are several, with equal arguments. Device and precision are those of the
// workbench, whatever the config says.
ExchangeBench bench_exchange(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size,
                             Job& job, Collectives& collectives);

}  // namespace segue
