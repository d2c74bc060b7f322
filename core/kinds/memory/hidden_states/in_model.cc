#include "core/kinds/memory/model_memory.h"

namespace segue {

extern const ModelMemoryRow kHiddenStatesInModel;
constinit const ModelMemoryRow kHiddenStatesInModel{};

}  // namespace segue
