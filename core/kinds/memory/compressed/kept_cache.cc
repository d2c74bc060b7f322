// When a segment begins, tapes of each layer make compressed rows, keys and values. No segment's tape runs then, and
// nobody reads what the last one has kept.
#include "core/kinds/memory/compressed/kept_cache.h"

#include <algorithm>

#include "core/kinds/memory/compressed/compressed_slots.h"
#include "core/kinds/memory/compressed/options.h"
#include "kernels/copy_block.h"

namespace segue {

CompressedCache::CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : PerSegmentKvCache(in_use, streams, tgt_len, in_use.use.memory_rows()),
      memory_(in_use.model.config(), in_use.use, streams, in_use.parameters.compute()) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const ModelUse& use = in_use.use;
  const int64_t most = keeps_most_used(model.memory) ? use.pushed_out(use.uncompressed_rows(), tgt_len) : 0;
  for (int64_t l = 0; l < model.n_layer; ++l) {
    inputs_.emplace_back(compute.activations, Shape{streams, tgt_len, model.d_model}, compute.device);
    received_.emplace_back(DType::kFloat32, Shape{streams, model.n_head, most}, compute.device);
  }
  const SegmentShape full{.streams = streams,
                          .tgt_len = tgt_len,
                          .memory_rows = use.memory_rows(),
                          .compressed = use.compressed_len,
                          .pushed_out = use.pushed_out(use.uncompressed_rows(), tgt_len)};
  const Recorded& recorded = recorded_for(full);
  // So that it is known what will be taken.
  for (const auto& of_layer : recorded.before) in_use.arena.reserve(of_layer->tape.planned_bytes());
  for (const auto& of_layer : recorded.after) in_use.arena.reserve(of_layer->tape.planned_bytes());
}

void CompressedCache::fit(SegmentShape& shape) const {
  PerSegmentKvCache::fit(shape);
  shape.pushed_out = received_.front().shape()[2];
}

CompressedCache::Recorded& CompressedCache::recorded_for(const SegmentShape& shape) {
  const auto found = std::ranges::find(tapes_, shape, &Recorded::shape);
  if (found != tapes_.end()) return *found;
  Recorded& fresh = tapes_.emplace_back(Recorded{.shape = shape, .before = {}, .after = {}});
  const auto& [model, use, parameters, arena, queue] = in_use();
  const auto& compressing = memory_as<CompressingMemory>(model.memory());
  for (int64_t l = 0; l < std::ssize(inputs_); ++l) {
    fresh.before.push_back(model.record_memory(arena, parameters, use, shape, l));
    if (shape.pushed_out > 0) fresh.after.push_back(compressing.record(arena, parameters, shape, l));
  }
  return fresh;
}

// Of so many rows that are pushed out.
ConstTensorView CompressedCache::received_so_far(size_t layer, int64_t rows) const {
  const ConstTensorView all = received_[layer].view();
  return {all.data, all.dtype, {all.shape[0], all.shape[1], rows}};
}

int64_t CompressedCache::make_memory() {
  if (has_ended_) take_in_segment();
  shape_ = {.streams = streams(), .tgt_len = tgt_len()};
  memory_.fit(shape_);
  if (shape_.memory_rows == 0) return 0;
  const Recorded& recorded = recorded_for(shape_);
  for (size_t l = 0; l < inputs_.size(); ++l) {
    MemoryTape& made = *recorded.before[l];
    made.tape.bind(made.hidden, memory_.layer(static_cast<int64_t>(l)));
    made.tape.forward(in_use().queue);
    take_over(static_cast<int64_t>(l), made.tape.read(made.kv));
    in_use().queue.fill_zero(received_[l].view());
  }
  return shape_.memory_rows;
}

void CompressedCache::bind(SegmentTape& segment) {
  PerSegmentKvCache::bind(segment);
  const std::vector<ReceivedAttention>& received = slots_as<CompressedSlots>(segment).received;
  for (size_t l = 0; l < received.size(); ++l) segment.tape.bind(received[l].before, received_[l].view());
  segment.tape.info().pushed_out = MemoryRows{.first = shape_.compressed, .count = shape_.pushed_out};
}

void CompressedCache::take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) {
  const auto& slots = slots_as<CompressedSlots>(part);
  for (size_t l = 0; l < inputs_.size(); ++l) {
    const ConstTensorView inputs = part.tape.read(slots.inputs[l]);
    kernels::copy_block(queue, {.from = inputs,
                                .to = inputs_[l].view(),
                                .to_row = position,
                                .rows = inputs.shape[1],
                                .columns = inputs.shape[2]});
    if (slots.received.empty() || shape_.pushed_out == 0) continue;
    queue.copy(received_[l].view(), part.tape.read(slots.received[l].sums));
  }
}

// Once all that its tape kept has been read.
void CompressedCache::take_in_segment() {
  for (size_t l = 0; l < inputs_.size(); ++l) {
    const auto layer = static_cast<int64_t>(l);
    ConstTensorView compressed;
    if (shape_.pushed_out > 0) {
      CompressedTape& made = *recorded_for(shape_).after[l];
      made.tape.bind(made.hidden, memory_.layer(layer));
      if (made.received.exists()) made.tape.bind(made.received, received_so_far(l, shape_.pushed_out));
      made.tape.forward(in_use().queue);
      compressed = made.tape.read(made.compressed);
    }
    memory_.update(in_use().queue, layer, inputs_[l].view(), compressed);
  }
  memory_.advance(tgt_len());
  has_ended_ = false;
}

void CompressedCache::reset() {
  PerSegmentKvCache::reset();
  memory_.reset();
  has_ended_ = false;
}

int64_t CompressedCache::bytes() const {
  int64_t bytes = PerSegmentKvCache::bytes() + memory_.bytes();
  for (const std::vector<OwnedTensor>* each : {&inputs_, &received_})
    for (const OwnedTensor& layer : *each) bytes += layer.view().bytes();
  return bytes;
}

}  // namespace segue
