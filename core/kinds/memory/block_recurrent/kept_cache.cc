// Tapes between segments take the place of what the last segment's tape has kept, once nobody reads that any more.
#include "core/kinds/memory/block_recurrent/kept_cache.h"

#include "core/kinds/memory/block_recurrent/recurrent_slots.h"
#include "kernels/copy_block.h"

namespace segue {

RecurrentCache::RecurrentCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : queue_(in_use.queue), rows_(in_use, streams, tgt_len) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const auto& memory = memory_as<RecurrentMemory>(in_use.model.memory());
  const int64_t states = model.memory.states, columns = 2 * model.n_head * model.d_head;
  begin_ = memory.record(in_use.arena, in_use.parameters, streams, 0);
  next_ = memory.record(in_use.arena, in_use.parameters, streams, tgt_len);
  // So that it is known what will be taken.
  for (const RecurrentTape* each : {begin_.get(), next_.get()}) in_use.arena.reserve(each->tape.planned_bytes());
  states_ = OwnedTensor(DType::kFloat32, {streams, states, model.d_model}, compute.device);
  state_kv_ = OwnedTensor(compute.activations, {streams, states, columns}, compute.device);
  token_kv_ = OwnedTensor(compute.activations, {streams, tgt_len, columns}, compute.device);
}

void RecurrentCache::begin_segment() {
  if (has_begun_ && !has_ended_) return;
  RecurrentTape& made = has_ended_ ? *next_ : *begin_;
  made.tape.bind(made.before, states_.view());
  if (has_ended_) made.tape.bind(made.token_kv, token_kv_.view());
  made.tape.forward(queue_);
  if (has_ended_) queue_.copy(states_.view(), made.tape.read(made.after));
  queue_.copy(state_kv_.view(), made.tape.read(made.kv));
  has_begun_ = true;
  has_ended_ = false;
}

void RecurrentCache::bind(SegmentTape& segment) {
  if (position() == 0) begin_segment();
  rows_.bind(segment);
  const auto& slots = slots_as<RecurrentSlots>(segment);
  segment.tape.bind(slots.carried, states_.view());
  segment.tape.bind(slots.state_kv, state_kv_.view());
}

void RecurrentCache::update(kernels::Queue& queue, const SegmentTape& segment) {
  const int64_t position = this->position();
  rows_.update(queue, segment);
  const ConstTensorView kv = segment.tape.read(slots_as<RecurrentSlots>(segment).token_kv);
  kernels::copy_block(
      queue, {.from = kv, .to = token_kv_.view(), .to_row = position, .rows = kv.shape[1], .columns = kv.shape[2]});
  has_ended_ = this->position() == 0;
}

void RecurrentCache::reset() {
  rows_.reset();
  fill_zero(states_.view(), queue_.device());
  has_begun_ = has_ended_ = false;
}

int64_t RecurrentCache::bytes() const {
  return rows_.bytes() + states_.view().bytes() + state_kv_.view().bytes() + token_kv_.view().bytes();
}

}  // namespace segue
