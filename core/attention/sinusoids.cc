// In double precision, rounded once.
#include "core/attention/sinusoids.h"

#include <cmath>

namespace segue {

OwnedTensor sinusoids(int64_t rows, int64_t d_model) {
  OwnedTensor table(DType::kFloat32, {rows, d_model});
  float* row = table.as<float>();
  const int64_t half = d_model / 2;
  for (int64_t p = 0; p < rows; ++p, row += d_model) {
    for (int64_t t = 0; t < half; ++t) {
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(t) / static_cast<double>(d_model));
      row[t] = static_cast<float>(std::sin(angle));
      row[half + t] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

}  // namespace segue
