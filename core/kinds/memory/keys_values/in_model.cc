#include "core/kinds/memory/model_memory.h"

namespace segue {

extern const ModelMemoryRow kKeysValuesInModel;
constinit const ModelMemoryRow kKeysValuesInModel{.in_training = Remembered::kKeysAndValues};

}  // namespace segue
