// Tensors of one number, which say who wrote them last.
#pragma once

#include <algorithm>

#include "base/tensor.h"

namespace segue {

inline void fill(TensorView view, float value) { std::fill_n(view.as<float>(), view.elements(), value); }

inline bool is_all(ConstTensorView view, float value) {
  const float* data = view.as<float>();
  return std::all_of(data, data + view.elements(), [value](float x) { return x == value; });
}

}  // namespace segue
