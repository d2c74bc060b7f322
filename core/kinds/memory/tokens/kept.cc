#include "core/kinds/memory/tokens/kept_tokens.h"
#include "core/memory/kept_memory.h"

namespace segue {

namespace {

std::unique_ptr<TrainingMemory> make_training(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                              const Compute& compute) {
  if (model.memory.tokens == 0) return make_rows_and_states(model, use, streams, compute);
  return std::make_unique<TokenMemory>(model, use, streams, compute);
}

std::unique_ptr<KeptBeside> make_beside(const ModelConfig& model, int64_t streams, const Compute& compute) {
  if (model.memory.tokens == 0) return nullptr;
  return std::make_unique<MemoryTokens>(model, streams, compute);
}

}  // namespace

extern const KeptMemoryRow kTokensKept;
constexpr KeptMemoryRow kTokensKept{.make_training = make_training, .make_beside = make_beside};

}  // namespace segue
