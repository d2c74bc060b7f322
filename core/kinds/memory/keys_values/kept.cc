#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kKeysValuesKept;
constexpr KeptMemoryRow kKeysValuesKept{};

}  // namespace segue
