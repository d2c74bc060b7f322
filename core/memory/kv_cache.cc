// A block of rows that fills from the front; when it is full, the rows still needed move back there.
#include "core/memory/kv_cache.h"

#include <algorithm>

#include "core/config/layers.h"
#include "core/memory/kept_memory.h"
#include "kernels/copy_block.h"

namespace segue {

namespace {

// Room beyond the memory and its segment, so that rows move once in many segments. A quarter costs little memory.
int64_t capacity_of(int64_t mem_len, int64_t tgt_len) { return mem_len + tgt_len + std::max(tgt_len, mem_len / 4); }

OwnedTensor own(kernels::Queue& queue, ConstTensorView view) {
  OwnedTensor copy(view.dtype, view.shape, queue.device());
  queue.copy(copy.view(), view);
  return copy;
}

}  // namespace

KvCache::KvCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : use_(in_use.use),
      queue_(in_use.queue),
      tgt_len_(tgt_len),
      capacity_(capacity_of(use_.mem_len, use_.rows_of(tgt_len))),
      states_(in_use.model.config(), streams, queue_.device(), true),
      frozen_(in_use.model.record_frozen(in_use.arena, in_use.parameters, use_, streams, tgt_len)),
      positions_(tgt_len, streams, queue_.device()) {
  const Compute& compute = in_use.parameters.compute();
  const ModelConfig& model = in_use.model.config();
  const Shape rows{streams, capacity_, 2 * model.n_head * model.d_head};
  for (int64_t l = state_layers(model); l < model.n_layer; ++l)
    rows_.emplace_back(compute.activations, rows, compute.device);
  frozen_->tape.forward(queue_);
  for (const Slot slot : frozen_->distances)
    distances_.push_back(slot.exists() ? own(queue_, frozen_->tape.read(slot)) : OwnedTensor());
  beside_ = kept(model.memory.kind).make_beside(model, streams, compute);
  if (frozen_->zeros.empty()) {
    queue_.synchronize();  // the tape is read no more
    frozen_.reset();       // the sinusoids of its distances are as large as a layer's rows of them
  }
  reset();
}

void KvCache::fit(SegmentShape& shape) const {
  shape.remembered = Remembered::kKvCache;
  shape.memory_rows = capacity_;
  shape.distances = use_.mem_len + use_.rows_of(tgt_len_);
  if (use_.memory_tokens == 0 && !states_.change_at_ends()) return;
  shape.opens = position_ == 0;
  shape.closes = position_ + shape.tgt_len == tgt_len_;
  if (beside_) beside_->fit(shape);
}

void KvCache::bind(SegmentTape& segment) {
  for (size_t l = 0; l < rows_.size(); ++l) {
    segment.tape.bind(segment.memories[l], rows_[l].view());
    if (segment.distances[l].exists()) segment.tape.bind(segment.distances[l], distances_[l].view());
  }
  segment.tape.info().memory_rows = MemoryRows{.first = begin_, .count = end_ - begin_};
  segment.tape.info().first_position = read_;
  if (beside_) beside_->bind(segment);
  states_.bind(segment);
  positions_.bind(segment, position());
}

void KvCache::update(kernels::Queue& queue, const SegmentTape& segment) {
  const int64_t tokens = segment.tape.shape(segment.tokens)[1];
  if (position() + tokens > tgt_len_)
    throw ContractError("a segment of {} tokens goes on with {} after {}", tgt_len_, tokens, position());
  const int64_t rows = segment.fresh.empty() ? tokens : segment.tape.shape(segment.fresh.front())[1];
  make_room(rows);
  states_.update(queue, segment);
  for (size_t l = 0; l < rows_.size(); ++l) {
    kernels::copy_block(queue, {.from = segment.tape.read(segment.fresh[l]),
                                .from_column = rows_[l].shape()[2] / 2,  // after the queries
                                .to = rows_[l].view(),
                                .to_row = end_,
                                .rows = rows,
                                .columns = rows_[l].shape()[2]});
  }
  end_ += rows;
  read_ += rows;
  position_ = (position_ + tokens) % tgt_len_;
  if (beside_) beside_->update(queue, segment);
  if (position_ == 0) begin_ = std::max(begin_, end_ - use_.mem_len);
}

void KvCache::make_room(int64_t rows) {
  if (end_ + rows <= capacity_) return;
  const int64_t gap = begin_;  // what is moved at once lies apart from where it goes
  for (; begin_ < end_; begin_ += gap) {
    const int64_t count = std::min(gap, end_ - begin_);
    for (OwnedTensor& layer : rows_) {
      kernels::copy_block(queue_, {.from = layer.view(),
                                   .from_row = begin_,
                                   .to = layer.view(),
                                   .to_row = begin_ - gap,
                                   .rows = count,
                                   .columns = layer.shape()[2]});
    }
  }
  end_ -= gap;
  begin_ = 0;
}

void KvCache::reset() {
  begin_ = end_ = read_ = position_ = 0;
  if (beside_) beside_->reset();
  states_.reset();
  if (frozen_ == nullptr) return;
  frozen_->tape.forward(queue_);
  for (size_t l = 0; l < rows_.size(); ++l) {
    kernels::copy_block(queue_, {.from = frozen_->tape.read(frozen_->zeros[l]),
                                 .to = rows_[l].view(),
                                 .rows = use_.mem_len,
                                 .columns = rows_[l].shape()[2]});
  }
  end_ = use_.mem_len;
}

int64_t KvCache::bytes() const {
  int64_t bytes = 0;
  for (const OwnedTensor& layer : rows_) bytes += layer.view().bytes();
  for (const OwnedTensor& layer : distances_) bytes += layer.view().bytes();
  if (beside_) bytes += beside_->bytes();
  return bytes + states_.bytes();
}

}  // namespace segue
