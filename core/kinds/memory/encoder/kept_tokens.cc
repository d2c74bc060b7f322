// Tokens move as rows of one element.
#include "core/kinds/memory/encoder/kept_tokens.h"

#include <algorithm>

#include "base/cuda.h"
#include "core/kinds/memory/encoder/encoder_slots.h"
#include "core/kinds/memory/encoder/encoding_memory.h"
#include "kernels/segment_memory.h"

namespace segue {

namespace {

// The update of a memory moves elements of four bytes and reads no number in them.
template <typename View>
View as_rows(const View& tokens) {
  return {tokens.data, DType::kFloat32, {tokens.shape[0], tokens.shape[1], 1}};
}

}  // namespace

EncoderMemory::EncoderMemory(int64_t mem_len, int64_t streams, Device device)
    : device_(device), tokens_(DType::kInt32, {streams, mem_len}, device), mem_len_(mem_len) {}

ConstTensorView EncoderMemory::tokens() const {
  return {tokens_.view().data, DType::kInt32, {tokens_.shape()[0], length_}};
}

void EncoderMemory::fit(SegmentShape& shape) const {
  shape.remembered = Remembered::kHiddenStates;
  shape.memory_rows = length_;
}

void EncoderMemory::bind(SegmentTape& segment) { segment.tape.bind(slots_as<EncoderSlots>(segment).tokens, tokens()); }

void EncoderMemory::update(kernels::Queue& queue, const SegmentTape& segment) {
  const cuda::Range range("encoder_memory");
  update(queue, segment.tape.read(segment.tokens));
}

void EncoderMemory::update(kernels::Queue& queue, ConstTensorView tokens) {
  if (mem_len_ > 0) keep(queue, tokens);
}

// The newest tokens of those that are there and of `fresh` ones, up to the limit.
void EncoderMemory::keep(kernels::Queue& queue, ConstTensorView fresh) {
  const int64_t length = std::min(mem_len_, length_ + fresh.shape[1]);
  const TensorView updated{tokens_.view().data, DType::kInt32, {tokens_.shape()[0], length}};
  kernels::segment_memory_update(queue,
                                 {.memory = as_rows(tokens()), .hidden = as_rows(fresh), .updated = as_rows(updated)});
  length_ = length;
}

void EncoderMemory::set_mem_len(kernels::Queue& queue, int64_t mem_len) {
  if (mem_len < 0 || mem_len > tokens_.shape()[1])
    throw ContractError("a memory of {} tokens, expected 0 to {}", mem_len, tokens_.shape()[1]);
  mem_len_ = mem_len;
  if (length_ > mem_len) keep(queue, {nullptr, DType::kInt32, {tokens_.shape()[0], 0}});
}

std::vector<NamedTensor> EncoderMemory::state() const { return {{"tokens", tokens()}}; }

void EncoderMemory::restore(std::span<const ConstTensorView> state) {
  if (state.size() != 1) throw CheckpointError("memory of {} tensors, expected the tokens alone", state.size());
  const ConstTensorView& saved = state.front();
  const int64_t streams = tokens_.shape()[0];
  const bool fits = saved.dtype == DType::kInt32 && saved.shape.rank() == 2 && saved.shape[0] == streams &&
                    saved.shape[1] <= tokens_.shape()[1];
  if (!fits)
    throw CheckpointError("memory: tokens are {} {}, expected {} [{}, at most {}]", name_of(saved.dtype),
                          saved.shape.text(), name_of(DType::kInt32), streams, tokens_.shape()[1]);
  length_ = saved.shape[1];
  copy_tensor({tokens_.view().data, DType::kInt32, saved.shape}, saved, device_);
}

EncoderCache::EncoderCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len)
    : PerSegmentKvCache(in_use, streams, tgt_len, in_use.use.mem_len),
      memory_(in_use.use.mem_len, streams, in_use.queue.device()),
      segment_(tgt_len, streams, in_use.queue.device()) {
  if (in_use.use.mem_len == 0) return;
  in_use.arena.reserve(
      tape_for(in_use.use.mem_len).made->tape.planned_bytes());  // so that it is known what will be taken
}

EncodedTape record_encoded(const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& use,
                           const Shape& tokens) {
  const auto& memory = memory_as<EncodingMemory>(model.memory());
  EncodedTape encoded;
  encoded.made = model.record_shared_rows(arena, parameters, use, [&](Tape& tape, const Head& head) {
    encoded.tokens = tape.bound(tokens, DType::kInt32);
    return memory.record(tape, parameters, head, encoded.tokens, use);
  });
  return encoded;
}

EncodedTape& EncoderCache::tape_for(int64_t length) {
  const auto is_for = [length](const EncodedTape& tape) { return tape.made->tape.shape(tape.tokens)[1] == length; };
  const auto found = std::ranges::find_if(tapes_, is_for);
  if (found != tapes_.end()) return *found;
  const auto& [model, use, parameters, arena, queue] = in_use();
  return tapes_.emplace_back(record_encoded(model, arena, parameters, use, {streams(), length}));
}

int64_t EncoderCache::make_memory() {
  const int64_t length = memory_.length();
  if (length == 0) return 0;
  EncodedTape& encoded = tape_for(length);
  Tape& tape = encoded.made->tape;
  tape.bind(encoded.tokens, memory_.tokens());
  tape.forward(in_use().queue);
  for (int64_t l = 0; l < std::ssize(encoded.made->kv); ++l)
    take_over(l, tape.read(encoded.made->kv[static_cast<size_t>(l)]));
  return length;
}

void EncoderCache::take_in(kernels::Queue& queue, const SegmentTape& part, int64_t /*position*/) {
  segment_.update(queue, part.tape.read(part.tokens));
}

void EncoderCache::end_segment(kernels::Queue& queue) {
  memory_.update(queue, segment_.tokens());
  segment_.reset();
}

void EncoderCache::reset() {
  PerSegmentKvCache::reset();
  memory_.reset();
  segment_.reset();
}

}  // namespace segue
