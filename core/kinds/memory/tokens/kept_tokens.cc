// After a segment the tokens that it wrote replace those that it read.
#include "core/kinds/memory/tokens/kept_tokens.h"

#include "core/kinds/memory/tokens/token_slots.h"

namespace segue {

MemoryTokens::MemoryTokens(const ModelConfig& model, int64_t streams, const Compute& compute)
    : compute_(compute), tokens_(compute.activations, {streams, model.memory.tokens, model.d_model}, compute.device) {}

ConstTensorView MemoryTokens::view() const {
  const Shape& shape = tokens_.shape();
  return {tokens_.view().data, compute_.activations, {shape[0], are_written_ ? shape[1] : 0, shape[2]}};
}

void MemoryTokens::bind(SegmentTape& segment) const {
  const Slot read = slots_as<TokenSlots>(segment).read;
  if (read.exists()) segment.tape.bind(read, tokens_.view());
}

void MemoryTokens::update(kernels::Queue& queue, const SegmentTape& segment) {
  const Slot written = slots_as<TokenSlots>(segment).written;
  if (!written.exists()) return;  // of a segment that has not ended
  queue.copy(tokens_.view(), segment.tape.read(written));
  are_written_ = true;
}

void MemoryTokens::check(const ConstTensorView& saved) const {
  const Shape& own = tokens_.shape();
  const bool is_empty = saved.shape.rank() == 3 && saved.shape[1] == 0;
  const Shape expected{own[0], is_empty ? 0 : own[1], own[2]};
  if (saved.shape != expected || (saved.dtype != DType::kFloat32 && saved.dtype != DType::kBFloat16))
    throw CheckpointError("memory tokens are {} {}, expected {} {}", name_of(saved.dtype), saved.shape.text(),
                          name_of(compute_.activations), own.text());
}

void MemoryTokens::restore(const ConstTensorView& saved) {
  check(saved);
  are_written_ = saved.shape[1] > 0;
  if (!are_written_) return;
  OwnedTensor rounded(compute_.activations, saved.shape);
  convert(rounded.view(), saved);
  copy_tensor(tokens_.view(), rounded.view(), compute_.device);
}

TokenMemory::TokenMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute)
    : rows_(memory_shape(model, use, streams), compute), tokens_(model, streams, compute) {}

void TokenMemory::fit(SegmentShape& shape) const {
  rows_.fit(shape);
  tokens_.fit(shape);
  shape.mem_len = rows_.mem_len();
}

void TokenMemory::bind(SegmentTape& segment) {
  rows_.bind(segment);
  tokens_.bind(segment);
}

void TokenMemory::update(kernels::Queue& queue, const SegmentTape& segment) {
  rows_.update(queue, segment);
  tokens_.update(queue, segment);
}

void TokenMemory::reset() {
  rows_.reset();
  tokens_.reset();
}

std::vector<NamedTensor> TokenMemory::state() const {
  std::vector<NamedTensor> state = rows_.state();
  state.push_back({"tokens", tokens_.view()});
  return state;
}

void TokenMemory::restore(std::span<const ConstTensorView> state) {
  if (state.empty()) throw CheckpointError("no memory tokens, expected some");
  tokens_.check(state.back());
  rows_.restore(state.first(state.size() - 1));
  tokens_.restore(state.back());
}

}  // namespace segue
