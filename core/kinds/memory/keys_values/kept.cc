#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kKeysValuesKept;
constinit const KeptMemoryRow kKeysValuesKept{};

}  // namespace segue
