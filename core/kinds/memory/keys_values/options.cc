// Keys and values in place of the inputs that they are made of, which says nothing of weights.
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"

namespace segue {

extern const MemoryRow kKeysValuesRow;
constexpr MemoryRow kKeysValuesRow{.has_weights_of = MemoryKind::kHiddenStates};

}  // namespace segue
