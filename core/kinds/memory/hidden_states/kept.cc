#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kHiddenStatesKept;
constexpr KeptMemoryRow kHiddenStatesKept{};

}  // namespace segue
