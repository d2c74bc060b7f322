// The memory of the published Transformer-XL (Dai et al. 2019): as the defaults are.
#include "core/config/memory_row.h"

namespace segue {

extern const MemoryRow kHiddenStatesRow;
constexpr MemoryRow kHiddenStatesRow{};

}  // namespace segue
