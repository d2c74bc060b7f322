#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kHiddenStatesKept;
constinit const KeptMemoryRow kHiddenStatesKept{};

}  // namespace segue
