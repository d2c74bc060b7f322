// Segments go to a GPU from pinned blocks, which take turns.
#include "core/engine/segment_inputs.h"

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

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

SegmentStaging::SegmentStaging(const Shapes& shapes, Device device)
    : shapes_{shapes.tokens, shapes.targets, shapes.reach, shapes.ahead} {
  int64_t elements = 0;
  for (const Shape& shape : shapes_) elements += shape.elements();
  const Shape bytes{kStepBytes + elements * bytes_of(DType::kInt32)};
  block_ = OwnedTensor(DType::kUInt8, bytes, device);
  for (Pinned& pinned : pinned_) pinned.block = OwnedTensor(DType::kUInt8, bytes, device, BufferKind::kPinned);
}

void SegmentStaging::load(kernels::Queue& queue, const SegmentInputs& inputs, int64_t vocabulary) {
  check_tokens("tokens", inputs.tokens, 0, vocabulary);
  check_tokens("targets", inputs.targets, kernels::kNotScored, vocabulary);
  for (const auto& [name, limits] : {std::pair("reach", inputs.reach), std::pair("ahead", inputs.ahead)})
    check_tokens(name, limits, 0, std::numeric_limits<int32_t>::max());
  Pinned& pinned = pinned_[next_];
  next_ = (next_ + 1) % pinned_.size();
  queue.cuda().wait_for(pinned.copied);
  const TensorView block = pinned.block.view();
  std::memcpy(block.data, &inputs.info.step, sizeof(inputs.info.step));
  copy_tensor(part_of(block, kTokens), inputs.tokens, {});
  copy_tensor(part_of(block, kTargets), inputs.targets, {});
  if (!inputs.reach.empty()) copy_tensor(part_of(block, kReach), inputs.reach, {});
  if (!inputs.ahead.empty()) copy_tensor(part_of(block, kAhead), inputs.ahead, {});
  queue.copy(block_.view(), block);
  pinned.copied.set(queue.cuda().stream());
}

}  // namespace segue
