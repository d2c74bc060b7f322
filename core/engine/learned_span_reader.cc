#include "core/engine/learned_span_reader.h"

#include <utility>

#include "kernels/tile_schedule.h"

namespace segue {

LearnedSpanReader::LearnedSpanReader(const ModelConfig& model, Parameters& parameters)
    : heads_(model.n_head), count_(model.n_layer * model.n_head) {
  const Device device = parameters.compute().device;
  for (AdaptiveSpan& span : adaptive_spans_of(model)) {
    const ConstTensorView z = parameters[span.parameter()].value;
    OwnedTensor copy = device.is_cuda() ? OwnedTensor(z.dtype, z.shape, device, BufferKind::kPinned) : OwnedTensor();
    layers_.push_back({.span = std::move(span), .z = z, .copy = std::move(copy)});
  }
}

void LearnedSpanReader::read(kernels::Queue& queue, std::vector<int64_t>& windows) {
  if (layers_.empty()) return;
  const bool is_on_gpu = queue.device().is_cuda();
  for (Layer& layer : layers_)
    if (is_on_gpu) queue.copy(layer.copy.view(), layer.z);
  if (is_on_gpu) queue.synchronize();
  windows.assign(static_cast<size_t>(count_), 0);
  for (const Layer& layer : layers_) {
    const float* const z = is_on_gpu ? layer.copy.as<float>() : layer.z.as<float>();
    for (int64_t n = 0; n < heads_; ++n) {
      const int64_t tiles = (layer.span.keys_seen(z[n]) + kernels::kScheduleTile - 1) / kernels::kScheduleTile;
      windows[static_cast<size_t>(layer.span.layer() * heads_ + n)] = tiles * kernels::kScheduleTile;
    }
  }
}

}  // namespace segue
