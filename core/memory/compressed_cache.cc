// Between two segments keys, values and compressed rows are made on a tape for each layer.
#include "core/memory/compressed_cache.h"

#include <algorithm>

#include "kernels/copy_block.h"

namespace segue {

CompressedCache::CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : RemadeCache(in_use, streams, tgt_len, in_use.use.memory_rows()),
      memory_(in_use.model.config(), in_use.use, streams, in_use.parameters.compute()) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const ModelUse& use = in_use.use;
  const int64_t most = use.pushed_out(use.uncompressed_rows(), tgt_len) / use.compression_rate;
  for (int64_t l = 0; l < model.n_layer; ++l) {
    inputs_.emplace_back(compute.activations, Shape{streams, tgt_len, model.d_model}, compute.device);
    compressed_.emplace_back(compute.activations, Shape{streams, most, model.d_model}, compute.device);
  }
}

CompressedCache::Recorded& CompressedCache::recorded_for(const SegmentShape& shape) {
  const auto found = std::ranges::find(tapes_, shape, &Recorded::shape);
  if (found != tapes_.end()) return *found;
  Recorded& fresh = tapes_.emplace_back(Recorded{.shape = shape, .layers = {}});
  for (int64_t l = 0; l < std::ssize(inputs_); ++l)
    fresh.layers.push_back(in_use().model.record_memory(in_use().arena, in_use().parameters, in_use().use, shape, l));
  return fresh;
}

int64_t CompressedCache::make_memory() {
  shape_ = {.streams = streams(), .tgt_len = tgt_len()};
  memory_.fit(shape_);
  if (shape_.memory_length == 0) return 0;
  const Recorded& recorded = recorded_for(shape_);
  for (size_t l = 0; l < inputs_.size(); ++l) {
    MemoryTape& made = *recorded.layers[l];
    made.tape.bind(made.hidden, memory_.layer(static_cast<int64_t>(l)));
    made.tape.forward(in_use().queue);
    take_over(static_cast<int64_t>(l), made.tape.read(made.kv));
    if (!made.compressed.exists()) continue;
    const ConstTensorView compressed = made.tape.read(made.compressed);
    in_use().queue.copy({compressed_[l].view().data, compressed.dtype, compressed.shape}, compressed);
  }
  return shape_.memory_length;
}

void CompressedCache::take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) {
  for (size_t l = 0; l < inputs_.size(); ++l) {
    const ConstTensorView inputs = part.tape.read(part.inputs[l]);
    kernels::copy_block(queue, {.from = inputs,
                                .to = inputs_[l].view(),
                                .to_row = position,
                                .rows = inputs.shape[1],
                                .columns = inputs.shape[2]});
  }
}

void CompressedCache::end_segment(kernels::Queue& queue) {
  const int64_t made = shape_.pushed_out / in_use().use.compression_rate;
  for (size_t l = 0; l < inputs_.size(); ++l) {
    const ConstTensorView own = compressed_[l].view();
    memory_.update(queue, static_cast<int64_t>(l), inputs_[l].view(),
                   {own.data, own.dtype, {streams(), made, own.shape[2]}});
  }
  memory_.advance(tgt_len());
}

void CompressedCache::reset() {
  RemadeCache::reset();
  memory_.reset();
}

int64_t CompressedCache::bytes() const {
  int64_t bytes = RemadeCache::bytes() + memory_.bytes();
  for (const std::vector<OwnedTensor>* each : {&inputs_, &compressed_})
    for (const OwnedTensor& layer : *each) bytes += layer.view().bytes();
  return bytes;
}

}  // namespace segue
