// Between two segments keys, values and compressed rows are made on a tape for each layer; no segment's tape runs then.
#include "core/memory/compressed_cache.h"

#include <algorithm>

#include "kernels/copy_block.h"

namespace segue {

namespace {

ModelUse starting_empty(ModelUse use) {
  use.initial_memory = InitialMemory::kEmpty;
  return use;
}

}  // namespace

CompressedCache::CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : in_use_(in_use),
      streams_(streams),
      tgt_len_(tgt_len),
      memory_(in_use.model.config(), in_use.use, streams, in_use.parameters.compute()),
      positions_(tgt_len, streams, in_use.queue.device()) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const ModelUse& use = in_use.use;
  const Shape keys{streams, use.memory_rows() + tgt_len, 2 * model.n_head * model.d_head};
  const int64_t most = use.pushed_out(use.uncompressed_rows(), tgt_len) / use.compression_rate;
  for (int64_t l = 0; l < model.n_layer; ++l) {
    keys_.emplace_back(compute.activations, keys, compute.device);
    inputs_.emplace_back(compute.activations, Shape{streams, tgt_len, model.d_model}, compute.device);
    compressed_.emplace_back(compute.activations, Shape{streams, most, model.d_model}, compute.device);
  }
  const auto frozen =
      in_use.model.record_frozen(in_use.arena, in_use.parameters, starting_empty(use), streams, tgt_len);
  frozen->tape.forward(in_use.queue);
  for (const Slot slot : frozen->distances) {
    OwnedTensor& own = distances_.emplace_back();
    if (!slot.exists()) continue;
    const ConstTensorView rows = frozen->tape.read(slot);
    own = OwnedTensor(rows.dtype, rows.shape, compute.device);
    in_use.queue.copy(own.view(), rows);
  }
}

void CompressedCache::fit(SegmentShape& shape) const {
  shape.remembered = Remembered::kKvCache;
  shape.memory_length = keys_.front().shape()[1];
  shape.distances = in_use_.use.memory_rows() + tgt_len_;
}

CompressedCache::Recorded& CompressedCache::recorded_for(const SegmentShape& shape) {
  const auto found = std::ranges::find(tapes_, shape, &Recorded::shape);
  if (found != tapes_.end()) return *found;
  Recorded& fresh = tapes_.emplace_back(Recorded{.shape = shape, .layers = {}});
  for (int64_t l = 0; l < std::ssize(keys_); ++l)
    fresh.layers.push_back(in_use_.model.record_memory(in_use_.arena, in_use_.parameters, in_use_.use, shape, l));
  return fresh;
}

void CompressedCache::begin_segment() {
  shape_ = {.streams = streams_, .tgt_len = tgt_len_};
  memory_.fit(shape_);
  if (shape_.memory_length == 0) return;
  const Recorded& recorded = recorded_for(shape_);
  for (size_t l = 0; l < keys_.size(); ++l) {
    MemoryTape& made = *recorded.layers[l];
    made.tape.bind(made.hidden, memory_.layer(static_cast<int64_t>(l)));
    made.tape.forward(in_use_.queue);
    kernels::copy_block(in_use_.queue, {.from = made.tape.read(made.kv),
                                        .to = keys_[l].view(),
                                        .rows = shape_.memory_length,
                                        .columns = keys_[l].shape()[2]});
    if (!made.compressed.exists()) continue;
    const ConstTensorView compressed = made.tape.read(made.compressed);
    in_use_.queue.copy({compressed_[l].view().data, compressed.dtype, compressed.shape}, compressed);
  }
}

void CompressedCache::bind(SegmentTape& segment) {
  if (position_ == 0) begin_segment();
  for (size_t l = 0; l < keys_.size(); ++l) {
    segment.tape.bind(segment.memories[l], keys_[l].view());
    if (segment.distances[l].exists()) segment.tape.bind(segment.distances[l], distances_[l].view());
  }
  segment.tape.info().memory_rows = MemoryRows{.first = 0, .count = shape_.memory_length + position_};
  segment.tape.info().first_position = position_;
  positions_.bind(segment, position_);
}

void CompressedCache::update(kernels::Queue& queue, const SegmentTape& segment) {
  const int64_t tokens = segment.tape.shape(segment.tokens)[1];
  if (position_ + tokens > tgt_len_)
    throw ContractError("a segment of {} tokens goes on with {} after {}", tgt_len_, tokens, position_);
  for (size_t l = 0; l < keys_.size(); ++l) {
    const int64_t columns = keys_[l].shape()[2];
    kernels::copy_block(queue, {.from = segment.tape.read(segment.fresh[l]),
                                .from_column = columns / 2,  // after the queries
                                .to = keys_[l].view(),
                                .to_row = shape_.memory_length + position_,
                                .rows = tokens,
                                .columns = columns});
    kernels::copy_block(queue, {.from = segment.tape.read(segment.inputs[l]),
                                .to = inputs_[l].view(),
                                .to_row = position_,
                                .rows = tokens,
                                .columns = inputs_[l].shape()[2]});
  }
  position_ = (position_ + tokens) % tgt_len_;
  if (position_ > 0) return;
  const int64_t made = shape_.pushed_out / in_use_.use.compression_rate;
  for (size_t l = 0; l < keys_.size(); ++l) {
    const ConstTensorView own = compressed_[l].view();
    memory_.update(queue, static_cast<int64_t>(l), inputs_[l].view(),
                   {own.data, own.dtype, {streams_, made, own.shape[2]}});
  }
  memory_.advance(tgt_len_);
}

void CompressedCache::reset() {
  memory_.reset();
  position_ = 0;
}

int64_t CompressedCache::bytes() const {
  int64_t bytes = memory_.bytes();
  for (const std::vector<OwnedTensor>* each : {&distances_, &keys_, &inputs_, &compressed_})
    for (const OwnedTensor& layer : *each) bytes += layer.view().bytes();
  return bytes;
}

}  // namespace segue
