#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kInfiniKept;
constexpr KeptMemoryRow kInfiniKept{};

}  // namespace segue
