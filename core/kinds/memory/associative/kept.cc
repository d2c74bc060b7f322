#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kAssociativeKept;
constexpr KeptMemoryRow kAssociativeKept{};

}  // namespace segue
