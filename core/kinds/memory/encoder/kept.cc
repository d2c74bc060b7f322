#include "core/kinds/memory/encoder/kept_tokens.h"
#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kEncoderKept;
constexpr KeptMemoryRow kEncoderKept{
    .make_training = [](const ModelConfig& /*model*/, const ModelUse& use, int64_t streams,
                        const Compute& compute) -> std::unique_ptr<TrainingMemory> {
      return std::make_unique<EncoderMemory>(use.mem_len, streams, compute.device);
    },
    .make_frozen = [](const ModelInUse& in_use, int64_t streams, int64_t tgt_len) -> std::unique_ptr<FrozenMemory> {
      return std::make_unique<EncoderCache>(in_use, streams, tgt_len);
    },
    .show_between =
        [](const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& use,
           const SegmentShape& shape, const TapeViewer& show) {
          show(record_encoded(model, arena, parameters, use, {shape.streams, use.mem_len}).made->tape);
        }};

}  // namespace segue
