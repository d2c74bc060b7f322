// Element by element; backward sums over rows in the same pass. Exponentials are vectors, the logarithm near 1 is not.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

float scale_of(float rate) { return exp_float(rate > kLargestRate ? kLargestRate : rate); }

// log(1 + e^x)
float softplus(float x) { return (x < 0.0F ? 0.0F : x) + std::log1p(exp_float(-std::fabs(x))); }

}  // namespace

void gate_forward(Queue& queue, const GateForward& args) {
  const int64_t rows = args.x.shape[0];
  const int64_t columns = args.x.shape[1];
  const float* bias = args.bias.as<float>();
  const float* rate = data_of<float>(args.rate);
  float* gates = args.gates.as<float>();
  const bool is_share = args.formula == GateFormula::kShare;
  const bool is_rest = args.formula == GateFormula::kRest;
  with_activations(args.x.dtype, [&]<typename A>() {
    const A* x = args.x.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.x.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      const A* from = x + row * columns;
      float* to = gates + row * columns;
      for (int64_t c = 0; c < columns; ++c) {
        const float shifted = load(from + c) + bias[c];
        if (is_share) {
          to[c] = sigmoid(shifted);
        } else {
          const float value = (rate == nullptr ? 1.0F : -scale_of(rate[c])) * softplus(shifted);
          to[c] = is_rest ? -std::expm1(value) : value;
        }
      }
    }
  });
}

void gate_backward(Queue& queue, const GateBackward& args) {
  const int64_t width = args.x.shape[1];
  const float* bias = args.bias.as<float>();
  const float* rate = data_of<float>(args.rate);
  const float* dgates = args.dgates.as<float>();
  float* dbias = args.dbias.as<float>();
  float* drate = data_of<float>(args.drate);
  const bool is_share = args.formula == GateFormula::kShare;
  const bool is_rest = args.formula == GateFormula::kRest;
  with_activations(args.x.dtype, [&]<typename A>() {
    const A* x = args.x.as<A>();
    A* dx = args.dx.as<A>();
    for_each_column_tile(queue, args.x.shape[0], width,
                         [=](int64_t row, int64_t rows, int64_t column, int64_t columns) {
                           TileColumns by_bias{};
                           TileColumns by_rate{};
                           for (int64_t i = row; i < row + rows; ++i) {
                             const int64_t first = i * width + column;
                             for (int64_t c = 0; c < columns; ++c) {
                               const float shifted = load(x + first + c) + bias[column + c];
                               const float s = sigmoid(shifted);
                               const float dgate = dgates[first + c];
                               float gradient = dgate * s * (is_share ? sigmoid(-shifted) : 1.0F);
                               if (rate != nullptr) {
                                 const float scale = scale_of(rate[column + c]);
                                 const float decay = -scale * softplus(shifted);
                                 // Of the decay that the gate is, or leaves.
                                 const float ddecay = is_rest ? -dgate * exp_float(decay) : dgate;
                                 gradient = -ddecay * scale * s;
                                 by_rate[c] += ddecay * decay;
                               }
                               store(dx + first + c, gradient);
                               by_bias[c] += gradient;
                             }
                           }
                           add_to(dbias + column, by_bias.data(), columns);
                           if (drate != nullptr) add_to(drate + column, by_rate.data(), columns);
                         });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
