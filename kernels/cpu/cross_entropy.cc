// One pass for the largest logit of a row, one for the sum of exponentials; the backward by column tiles, for dbias.
#include <cmath>
#include <limits>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// A float sum of this many terms is added to a double: a vocabulary of 10^5 would lose digits in float.
constexpr int64_t kSumPiece = 1024;

// logits[c] + bias[c]; without a bias the compiler drops the sum from the loops.
template <bool kHasBias, typename A>
float logit(const A* logits, const float* bias, int64_t c) {
  return kHasBias ? load(logits + c) + bias[c] : load(logits + c);
}

// Of the classes [begin, end).
template <bool kHasBias, typename A>
float largest(const A* logits, const float* bias, int64_t begin, int64_t end) {
  float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
  for (int64_t c = begin; c < end; ++c) max = std::max(max, logit<kHasBias>(logits, bias, c));
  return max;
}

template <bool kHasBias, typename A>
float largest_but(int64_t target, const A* logits, const float* bias, int64_t classes) {
  return std::max(largest<kHasBias>(logits, bias, 0, target), largest<kHasBias>(logits, bias, target + 1, classes));
}

template <bool kHasBias, typename A>
double sum_of_exp(const A* logits, const float* bias, float max, int64_t classes) {
  double total = 0.0;
  for (int64_t first = 0; first < classes; first += kSumPiece) {
    const int64_t end = std::min(classes, first + kSumPiece);
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = first; c < end; ++c) sum += exp_float(logit<kHasBias>(logits, bias, c) - max);
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename A, bool kHasBias>
void forward(const Queue& queue, const CrossEntropyForward& args) {
  const int64_t rows = args.logits.shape[0];
  const int64_t classes = args.logits.shape[1];
  const A* logits = args.logits.as<A>();
  const float* bias = kHasBias ? args.bias.as<float>() : nullptr;
  const int32_t* targets = args.targets.as<int32_t>();
  float* nll = args.nll.as<float>();
  float* lse = args.lse.as<float>();
  float* margin = args.margin.empty() ? nullptr : args.margin.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.logits.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    const A* z = logits + row * classes;
    const int32_t target = targets[row];
    if (target < 0) {
      nll[row] = lse[row] = 0.0F;
      if (margin != nullptr) margin[row] = 0.0F;
      continue;
    }
    const float own = logit<kHasBias>(z, bias, target);
    // Two ranges take longer than one where rows are short.
    const float others =
        margin == nullptr ? largest<kHasBias>(z, bias, 0, classes) : largest_but<kHasBias>(target, z, bias, classes);
    const float max = std::max(others, own);
    const double log_sum = std::log(sum_of_exp<kHasBias>(z, bias, max, classes));
    lse[row] = static_cast<float>(static_cast<double>(max) + log_sum);
    nll[row] = static_cast<float>(static_cast<double>(max - own) + log_sum);
    if (margin != nullptr) margin[row] = std::isnan(nll[row]) ? nll[row] : own - others;
  }
}

template <typename A, bool kHasBias>
void backward(const Queue& queue, const CrossEntropyBackward& args) {
  const int64_t classes = args.logits.shape[1];
  const float scale = args.scale;
  A* logits = args.logits.as<A>();
  const float* bias = kHasBias ? args.bias.as<float>() : nullptr;
  const int32_t* targets = args.targets.as<int32_t>();
  const float* lse = args.lse.as<float>();
  float* dbias = kHasBias ? args.dbias.as<float>() : nullptr;
  const auto tile = [=](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    TileColumns sums{};
    for (int64_t i = row; i < row + rows; ++i) {
      A* z = logits + i * classes + column;
      if (targets[i] < 0) {
        std::fill_n(z, columns, A{});
        continue;
      }
      const float row_lse = lse[i];
      TileColumns gradient;
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c)
        gradient[c] = scale * exp_float(logit<kHasBias>(z, bias + column, c) - row_lse);
      const int64_t target = targets[i] - column;
      if (target >= 0 && target < columns) gradient[target] -= scale;
      store_row(z, gradient.data(), columns);
      if (kHasBias) add_to(sums.data(), gradient.data(), columns);
    }
    if (kHasBias) add_to(dbias + column, sums.data(), columns);
  };
  for_each_column_tile(queue, args.logits.shape[0], classes, tile);
}

}  // namespace

void cross_entropy_forward(Queue& queue, const CrossEntropyForward& args) {
  with_activations(args.logits.dtype, [&]<typename A>() {
    args.bias.empty() ? forward<A, false>(queue, args) : forward<A, true>(queue, args);
  });
}

void cross_entropy_backward(Queue& queue, const CrossEntropyBackward& args) {
  with_activations(args.logits.dtype, [&]<typename A>() {
    args.bias.empty() ? backward<A, false>(queue, args) : backward<A, true>(queue, args);
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
