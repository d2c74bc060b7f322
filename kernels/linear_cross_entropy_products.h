// The matrix products of which linear_cross_entropy.h consists on a processor.
#pragma once

#include <vector>

#include "kernels/linear_cross_entropy.h"
#include "kernels/product_shape.h"

namespace segue::kernels {

// Of a call that scores all its rows, `gates` of whose classes are gates; each as often as it is computed.
std::vector<ProductShape> linear_cross_entropy_products(const LinearCrossEntropyExtents& extents, int64_t gates,
                                                        bool has_gradient);

}  // namespace segue::kernels
