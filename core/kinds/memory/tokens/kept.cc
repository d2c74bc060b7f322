#include "core/memory/kept_memory.h"
#include "core/memory/token_memory.h"

namespace segue {

extern const KeptMemoryRow kTokensKept;
constexpr KeptMemoryRow kTokensKept{.make_training = [](const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                        const Compute& compute) -> std::unique_ptr<TrainingMemory> {
  return std::make_unique<TokenMemory>(model, use, streams, compute);
}};

}  // namespace segue
