#include "core/kinds/memory/block_recurrent/kept_cache.h"
#include "core/memory/kept_memory.h"

namespace segue {

extern const KeptMemoryRow kBlockRecurrentKept;
constexpr KeptMemoryRow kBlockRecurrentKept{
    .make_frozen = [](const ModelInUse& in_use, int64_t streams, int64_t tgt_len) -> std::unique_ptr<FrozenMemory> {
      return std::make_unique<RecurrentCache>(in_use, streams, tgt_len);
    },
    .show_between =
        [](const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& /*use*/,
           const SegmentShape& shape, const TapeViewer& show) {
          const auto& memory = memory_as<RecurrentMemory>(model.memory());
          show(memory.record(arena, parameters, shape.streams, shape.tgt_len)->tape);
        }};

}  // namespace segue
