#include "core/kinds/memory/model_memory.h"

namespace segue {

extern const ModelMemoryRow kHiddenStatesInModel;
constexpr ModelMemoryRow kHiddenStatesInModel{};

}  // namespace segue
