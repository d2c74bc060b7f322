// The table of sinusoids that stand for positions or distances.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace segue {

// Row p: sin(p * f_0) ... sin(p * f_{D/2-1}), then their cosines; f_t = 10000^(-2t/D). D is even. (Vaswani et al. 2017,
// section 3.5, with sines and cosines side by side instead of in turns.) float32.
OwnedTensor sinusoids(int64_t rows, int64_t d_model);

}  // namespace segue
