// Pinned blocks taken in turns.
#include "core/engine/segment_inputs.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "kernels/cross_entropy.h"

namespace segue {

namespace {

void check_tokens(std::string_view name, ConstTensorView tokens, int32_t lowest, int64_t vocabulary) {
  if (tokens.empty()) return;
  const int32_t* values = tokens.as<int32_t>();
  for (int64_t i = 0; i < tokens.elements(); ++i) {
    if (values[i] < lowest || values[i] >= vocabulary)
      throw ContractError("segment: {}[{}]: expected [{}, {}), found {}", name, i, lowest, vocabulary, values[i]);
  }
}

}  // namespace

SegmentStaging::SegmentStaging(const Shape& tokens, const Shape& targets, const Shape& reach, Device device)
    : tokens_(tokens), targets_(targets), reach_(reach) {
  const int64_t elements = tokens.elements() + targets.elements() + reach.elements();
  const Shape bytes{kStepBytes + elements * bytes_of(DType::kInt32)};
  block_ = OwnedTensor(DType::kUInt8, bytes, device);
  for (Pinned& pinned : pinned_) pinned.block = OwnedTensor(DType::kUInt8, bytes, device, BufferKind::kPinned);
}

void SegmentStaging::load(kernels::Queue& queue, const SegmentInputs& inputs, int64_t vocabulary) {
  check_tokens("tokens", inputs.tokens, 0, vocabulary);
  check_tokens("targets", inputs.targets, kernels::kNotScored, vocabulary);
  check_tokens("reach", inputs.reach, 0, std::numeric_limits<int32_t>::max());
  Pinned& pinned = pinned_[next_];
  next_ = (next_ + 1) % pinned_.size();
  queue.cuda().wait_for(pinned.copied);
  const TensorView block = pinned.block.view();
  std::memcpy(block.data, &inputs.info.step, sizeof(inputs.info.step));
  copy_tensor(tokens_in(block), inputs.tokens, {});
  copy_tensor(targets_in(block), inputs.targets, {});
  if (!inputs.reach.empty()) copy_tensor(reach_in(block), inputs.reach, {});
  queue.copy(block_.view(), block);
  pinned.copied.set(queue.cuda().stream());
}

}  // namespace segue
