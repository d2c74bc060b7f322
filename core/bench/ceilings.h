// Measures the peaks of the device, in matrix products and copies. All other measurements of a run are compared with
// them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/bench/report.h"
#include "core/bench/workbench.h"

namespace segue {

struct CeilingSizes {
  std::optional<int64_t> product = {};
  std::optional<int64_t> copy_bytes = {};
  void describe(JsonFields& fields);
};

Ceilings measure_ceilings(Workbench& workbench, const Effort& effort, const CeilingSizes& sizes);

}  // namespace segue
