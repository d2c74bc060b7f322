#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kAssociativeKept;
constinit const KeptMemoryRow kAssociativeKept{};

}  // namespace segue
