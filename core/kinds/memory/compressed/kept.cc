#include "core/kinds/memory/compressed/kept_cache.h"
#include "core/kinds/memory/compressed/kept_rows.h"
#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kCompressedKept;
constexpr KeptMemoryRow kCompressedKept{
    .make_training = [](const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute)
        -> std::unique_ptr<TrainingMemory> { return std::make_unique<CompressedMemory>(model, use, streams, compute); },
    .make_frozen = [](const ModelInUse& in_use, int64_t streams, int64_t tgt_len) -> std::unique_ptr<FrozenMemory> {
      return std::make_unique<CompressedCache>(in_use, streams, tgt_len);
    },
    .show_between =
        [](const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& use,
           const SegmentShape& shape, const TapeViewer& show) {
          const auto& memory = memory_as<CompressingMemory>(model.memory());
          for (int64_t layer = 0; layer < model.config().n_layer; ++layer) {
            show(model.record_memory(arena, parameters, use, shape, layer)->tape);
            if (shape.pushed_out > 0) show(memory.record(arena, parameters, shape, layer)->tape);
          }
        }};

}  // namespace segue
