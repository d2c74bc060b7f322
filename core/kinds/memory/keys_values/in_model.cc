#include "core/kinds/memory/model_memory.h"

namespace segue {

extern const ModelMemoryRow kKeysValuesInModel;
constexpr ModelMemoryRow kKeysValuesInModel{.in_training = Remembered::kKeysAndValues};

}  // namespace segue
