// Opens the device and fills tensors on it.
#include "core/bench/bench_stream.h"

#include <algorithm>

#include "base/cuda.h"
#include "base/json_fields.h"
#include "base/random.h"
#include "core/config/device_choice.h"
#include "core/tape/compute.h"

namespace segue {

namespace {

constexpr int64_t kBlockElements = (int64_t{1} << 18) - 5;  // odd, so that rows of a matrix differ

OwnedTensor random_block(int64_t elements, uint16_t site) {
  OwnedTensor block(DType::kFloat32, {elements});
  const RandomStream random{.seed = 1, .step = 0, .site = site};
  for (int64_t i = 0; i < elements; ++i)
    block.as<float>()[i] = static_cast<float>(random_normal(random, static_cast<uint64_t>(i)));
  return block;
}

}  // namespace

BenchStream::BenchStream(const BenchPlace& place)
    : stream_(choose_device(place.device, "--device", place.local_rank), place.threads),
      precision_(place.precision),
      activations_(activations_of(precision_, device())) {}

std::string BenchStream::title() const {
  const std::string_view precision = name_of_choice(precision_);
  if (!device().is_cuda()) return fmt::format("cpu, {} threads, {}", stream_.threads(), precision);
  return fmt::format("{} ({}), {}", name_of(device()), cuda::describe_device(device().index).name, precision);
}

OwnedTensor BenchStream::random_tensor(DType dtype, const Shape& shape) {
  OwnedTensor tensor(dtype, shape, device());
  const int64_t elements = shape.elements();
  if (elements == 0) return tensor;
  const OwnedTensor drawn = random_block(std::min(elements, kBlockElements), ++drawn_);
  const OwnedTensor block = converted_copy(drawn.view(), dtype, device());
  const TensorView flat = tensor.view().reshaped({elements});
  for (int64_t done = 0; done < elements; done += kBlockElements) {
    const int64_t count = std::min(kBlockElements, elements - done);
    stream_.copy(flat.rows(done, count), block.view().rows(0, count));
  }
  stream_.synchronize();
  return tensor;
}

OwnedTensor random_tokens(const Shape& shape, int64_t vocab_size, uint16_t site) {
  OwnedTensor tokens(DType::kInt32, shape);
  const RandomStream random{.seed = 1, .step = 0, .site = site};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double uniform = random_uniform(random, static_cast<uint64_t>(i));
    tokens.as<int32_t>()[i] = static_cast<int32_t>(uniform * static_cast<double>(vocab_size));
  }
  return tokens;
}

}  // namespace segue
