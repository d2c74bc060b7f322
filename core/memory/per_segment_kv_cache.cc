#include "core/memory/per_segment_kv_cache.h"

#include "kernels/copy_block.h"

namespace segue {

namespace {

ModelUse starting_empty(ModelUse use) {
  use.initial_memory = InitialMemory::kEmpty;
  return use;
}

}  // namespace

PerSegmentKvCache::PerSegmentKvCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len,
                                     int64_t most_memory_rows)
    : in_use_(in_use),
      streams_(streams),
      tgt_len_(tgt_len),
      most_memory_rows_(most_memory_rows),
      positions_(tgt_len, streams, in_use.queue.device()) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const Shape keys{streams, most_memory_rows + tgt_len, 2 * model.n_head * model.d_head};
  for (int64_t l = 0; l < model.n_layer; ++l) keys_.emplace_back(compute.activations, keys, compute.device);
  const auto frozen =
      in_use.model.record_frozen(in_use.arena, in_use.parameters, starting_empty(in_use.use), streams, tgt_len);
  frozen->tape.forward(in_use.queue);
  for (const Slot slot : frozen->distances) {
    OwnedTensor& own = distances_.emplace_back();
    if (!slot.exists()) continue;
    const ConstTensorView rows = frozen->tape.read(slot);
    own = OwnedTensor(rows.dtype, rows.shape, compute.device);
    in_use.queue.copy(own.view(), rows);
  }
}

void PerSegmentKvCache::fit(SegmentShape& shape) const {
  shape.remembered = Remembered::kKvCache;
  shape.memory_rows = most_memory_rows_ + tgt_len_;
  shape.distances = most_memory_rows_ + tgt_len_;
}

void PerSegmentKvCache::take_over(int64_t l, ConstTensorView kv) {
  const TensorView keys = keys_[static_cast<size_t>(l)].view();
  kernels::copy_block(in_use_.queue, {.from = kv, .to = keys, .rows = kv.shape[1], .columns = keys.shape[2]});
}

void PerSegmentKvCache::bind(SegmentTape& segment) {
  if (position_ == 0) memory_rows_ = make_memory();
  for (size_t l = 0; l < keys_.size(); ++l) {
    segment.tape.bind(segment.memories[l], keys_[l].view());
    if (segment.distances[l].exists()) segment.tape.bind(segment.distances[l], distances_[l].view());
  }
  segment.tape.info().memory_rows = MemoryRows{.first = 0, .count = memory_rows_ + position_};
  segment.tape.info().first_position = position_;
  positions_.bind(segment, position_);
}

void PerSegmentKvCache::update(kernels::Queue& queue, const SegmentTape& segment) {
  const int64_t tokens = segment.tape.shape(segment.tokens)[1];
  if (position_ + tokens > tgt_len_)
    throw ContractError("a segment of {} tokens goes on with {} after {}", tgt_len_, tokens, position_);
  for (size_t l = 0; l < keys_.size(); ++l) {
    const int64_t columns = keys_[l].shape()[2];
    kernels::copy_block(queue, {.from = segment.tape.read(segment.fresh[l]),
                                .from_column = columns / 2,  // after the queries
                                .to = keys_[l].view(),
                                .to_row = memory_rows_ + position_,
                                .rows = tokens,
                                .columns = columns});
  }
  take_in(queue, segment, position_);
  position_ = (position_ + tokens) % tgt_len_;
  if (position_ == 0) end_segment(queue);
}

int64_t PerSegmentKvCache::bytes() const {
  int64_t bytes = 0;
  for (const std::vector<OwnedTensor>* each : {&distances_, &keys_})
    for (const OwnedTensor& layer : *each) bytes += layer.view().bytes();
  return bytes;
}

}  // namespace segue
