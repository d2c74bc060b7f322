// Checks of an operation's arguments. Each message names the operation, the tensor, what was expected and what was
// found.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/device.h"
#include "base/tensor.h"

namespace segue::kernels {

// The contract of one operation, as in Contract("layer_norm_forward"). Every method throws ContractError when broken.
class Contract {
 public:
  explicit Contract(std::string_view operation) : operation_(operation) {}

  // Exactly this dtype and shape, with data behind it.
  void tensor(std::string_view name, ConstTensorView found, DType dtype, const Shape& shape) const;
  void floats(std::string_view name, ConstTensorView found, const Shape& shape) const;
  // float32 of this rank, any extents.
  void rank(std::string_view name, ConstTensorView found, int rank) const;
  // The same for an activation: float32 or bfloat16. Returns which: that of all activations of the call.
  DType activation(std::string_view name, ConstTensorView found, int rank) const;
  // Nothing: neither data nor elements.
  void absent(std::string_view name, ConstTensorView found, std::string_view because) const;
  // No byte in common.
  void disjoint(std::string_view name, ConstTensorView a, std::string_view other, ConstTensorView b) const;
  // The same bytes, or no byte in common.
  void same_or_disjoint(std::string_view name, ConstTensorView a, std::string_view other, ConstTensorView b) const;
  // int32 [R], on the CPU each in [lowest, limit); names the first that is not. What lies on a GPU is taken on trust.
  void indices(std::string_view name, ConstTensorView found, int64_t limit, Device device, int64_t lowest = 0) const;
  // `valid` says whether the number keeps the contract that `expected` puts in words, composed only when it does not.
  template <typename... Words>
  void number(std::string_view name, double found, bool valid, fmt::format_string<Words...> expected,
              Words&&... words) const {
    if (!valid) refuse_number(name, found, fmt::format(expected, std::forward<Words>(words)...));
  }
  // In [0, 1]; NaN is not.
  void probability(std::string_view name, double found) const;

 private:
  [[noreturn]] void refuse_number(std::string_view name, double found, std::string_view expected) const;
  std::string_view operation_;
};

}  // namespace segue::kernels
