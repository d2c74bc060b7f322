// Tensors as rows: operations that work row by row take [B, T, D] as B*T rows of D.
#pragma once

#include <cstdint>

#include "base/tensor.h"

namespace segue {

inline int64_t last_extent(const Shape& shape) { return shape[shape.rank() - 1]; }

inline Shape as_rows(const Shape& shape) { return {shape.elements() / last_extent(shape), last_extent(shape)}; }

template <typename View>
View rows_of(const View& view) {
  return view.empty() ? View{} : view.reshaped(as_rows(view.shape));
}

inline Shape with_extent(Shape shape, int64_t last) {
  shape.append(last);
  return shape;
}

inline Shape with_last_extent(const Shape& shape, int64_t last) {
  Shape changed;
  for (int i = 0; i + 1 < shape.rank(); ++i) changed.append(shape[i]);
  changed.append(last);
  return changed;
}

}  // namespace segue
