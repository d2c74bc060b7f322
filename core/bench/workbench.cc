#include "core/bench/workbench.h"

#include <algorithm>

#include "base/cuda.h"
#include "base/json_fields.h"
#include "base/random.h"
#include "base/text.h"
#include "core/config/device_choice.h"
#include "core/tape/compute.h"

namespace segue {

namespace {

constexpr int64_t kBlockElements = (int64_t{1} << 18) - 5;  // odd, so that rows of a matrix differ

OwnedTensor random_block(int64_t elements, uint16_t site) {
  OwnedTensor block(DType::kFloat32, {elements});
  const RandomSequence random{.seed = 1, .step = 0, .site = site};
  for (int64_t i = 0; i < elements; ++i)
    block.as<float>()[i] = static_cast<float>(random_normal(random, static_cast<uint64_t>(i)));
  return block;
}

}  // namespace

Workbench::Workbench(const WorkbenchOptions& options)
    : queue_(usable_device(options.device, "--device", options.local_rank), static_cast<int>(options.threads)),
      precision_(options.precision),
      activations_(activations_of(precision_, device())) {}

std::string Workbench::title() const {
  const std::string_view precision = name_of_choice(precision_);
  if (!device().is_cuda()) return fmt::format("cpu, {}, {}", counted(queue_.threads(), "thread"), precision);
  return fmt::format("{} ({}), {}", name_of(device()), cuda::describe_device(device().index).name, precision);
}

OwnedTensor Workbench::random_tensor(DType dtype, const Shape& shape) {
  OwnedTensor tensor(dtype, shape, device());
  const int64_t elements = shape.elements();
  if (elements == 0) return tensor;
  const OwnedTensor drawn = random_block(std::min(elements, kBlockElements), ++drawn_);
  const OwnedTensor block = converted_copy(drawn.view(), dtype, device());
  const TensorView flat = tensor.view().reshaped({elements});
  for (int64_t done = 0; done < elements; done += kBlockElements) {
    const int64_t count = std::min(kBlockElements, elements - done);
    queue_.copy(flat.rows(done, count), block.view().rows(0, count));
  }
  queue_.synchronize();
  return tensor;
}

OwnedTensor random_tokens(const Shape& shape, int64_t vocab_size, uint16_t site) {
  OwnedTensor tokens(DType::kInt32, shape);
  const RandomSequence random{.seed = 1, .step = 0, .site = site};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double uniform = random_uniform(random, static_cast<uint64_t>(i));
    tokens.as<int32_t>()[i] = static_cast<int32_t>(uniform * static_cast<double>(vocab_size));
  }
  return tokens;
}

}  // namespace segue
