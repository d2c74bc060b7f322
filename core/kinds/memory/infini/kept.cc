#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kInfiniKept;
constinit const KeptMemoryRow kInfiniKept{};

}  // namespace segue
