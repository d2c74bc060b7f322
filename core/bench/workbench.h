// Shared by all measurements: a queue with a precision, and random inputs on its device.
#pragma once

#include <string>
#include <string_view>

#include "base/buffer.h"
#include "core/config/kinds.h"
#include "kernels/queue.h"

namespace segue {

struct WorkbenchOptions {
  std::string device = "auto";
  PrecisionKind precision = PrecisionKind::kFp32;
  int64_t threads = 0;
  int local_rank = 0;  // in a job, among the ranks of this host
};

class Workbench {
 public:
  // Throws ConfigError for bf16 on the CPU and for a name of no device, DeviceError for a GPU that fails.
  explicit Workbench(const WorkbenchOptions& options);

  kernels::Queue& queue() { return queue_; }
  Device device() const { return queue_.device(); }
  PrecisionKind precision() const { return precision_; }
  std::string title() const;  // "cuda:0 (NVIDIA H200), bf16"

  // Standard normal numbers. Never zeros: a GPU multiplies those faster. Large tensors repeat a block of numbers.
  OwnedTensor random_tensor(DType dtype, const Shape& shape);
  OwnedTensor random_tensor(const Shape& shape) { return random_tensor(activations_, shape); }
  OwnedTensor empty_tensor(const Shape& shape) const { return {activations_, shape, device()}; }

 private:
  kernels::Queue queue_;
  PrecisionKind precision_;
  DType activations_;
  uint16_t drawn_ = 0;  // tensors, each with numbers of its own
};

// Tokens of the CPU; other ones for every `site`.
OwnedTensor random_tokens(const Shape& shape, int64_t vocab_size, uint16_t site);

}  // namespace segue
