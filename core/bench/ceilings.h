// Measures what the device reaches: the yardstick of all other measurements of a run.
#pragma once

#include <cstdint>

#include "core/bench/report.h"
#include "core/bench/workbench.h"

namespace segue {

struct CeilingSizes {
  int64_t product = 0;     // m = n = k; 0: large enough for such a device
  int64_t copy_bytes = 0;  // 0: likewise, several times its caches
};

Ceilings measure_ceilings(Workbench& workbench, const Effort& effort, const CeilingSizes& sizes);

}  // namespace segue
