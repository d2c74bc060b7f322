// Row by row, a row of a backward twice: what stays in a row is written, and the gradients of gain and bias, which sum
// over rows, are gathered in the same passes.
#include <array>
#include <cmath>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;
constexpr int64_t kSlabRows = 64;  // whose sums one thread gathers

// sum[d] = x[d] + m[d] * branch[d] over row `row`.
template <typename A>
void add_branch(const Dropout& dropout, const A* x, const A* branch, A* sum, int64_t row, int64_t columns) {
  std::array<float, kPiece> mask;
  for (int64_t first = 0; first < columns; first += kPiece) {
    const int64_t size = std::min(kPiece, columns - first);
    dropout_multipliers(dropout, static_cast<uint64_t>(row * columns + first), size, mask.data());
#pragma omp simd
    for (int64_t d = 0; d < size; ++d)
      store(sum + first + d, std::fma(load(branch + first + d), mask[d], load(x + first + d)));
  }
}

template <typename A>
float mean_of(const A* s, int64_t columns) {
  const auto [total] = sums_over<1>(columns, [&](auto read, auto add) { add(0, read(s)); });
  return total / static_cast<float>(columns);
}

// Around the mean, in a second pass over a row that is in the cache: E[s²] - E[s]² would cancel.
template <typename A>
float variance_of(const A* s, float mean, int64_t columns) {
  const auto [total] = sums_over<1>(columns, [&](auto read, auto add) {
    const auto from_mean = read(s) - mean;
    add(0, from_mean * from_mean);
  });
  return total / static_cast<float>(columns);
}

template <typename A>
void forward(const Queue& queue, const LayerNormForward& args) {
  const int64_t rows = args.x.shape[0];
  const int64_t columns = args.x.shape[1];
  const A* x = args.x.as<A>();
  const A* branch = data_of<A>(args.branch);
  A* sum = data_of<A>(args.sum);
  const float* gain = args.gain.as<float>();
  const float* bias = args.bias.as<float>();
  A* y = args.y.as<A>();
  float* means = args.mean.as<float>();
  float* rstds = args.rstd.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.x.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * columns;
    if (branch != nullptr) add_branch(args.dropout, x + first, branch + first, sum + first, row, columns);
    const A* s = (branch != nullptr ? sum : x) + first;
    const float mean = mean_of(s, columns);
    const float rstd = 1.0F / std::sqrt(variance_of(s, mean, columns) + args.epsilon);
    means[row] = mean;
    rstds[row] = rstd;
#pragma omp simd
    for (int64_t d = 0; d < columns; ++d) store(y + first + d, std::fma((load(s + d) - mean) * rstd, gain[d], bias[d]));
  }
}

// Shared by the rows of a backward.
template <typename A>
struct Rows {
  const A* dy;
  const A* ds_other;  // or null
  const A* sum;
  const float* mean;
  const float* rstd;
  const float* gain;
  A* dx;  // or null
  bool accumulate_dx;
  A* dbranch;  // or null
  int64_t columns;
};

// Sums over the rows of a slab: for the gain, behind them for the bias.
using ParameterSums = std::array<float, 2 * kMaxNormWidth>;

struct RowMeans {
  float g = 0.0F;   // of g = dy * gain
  float gn = 0.0F;  // of g * n
};

template <typename A>
RowMeans gradient_means(const Rows<A>& rows, int64_t row) {
  const int64_t columns = rows.columns;
  const A* dy = rows.dy + row * columns;
  const A* s = rows.sum + row * columns;
  const float* gain = rows.gain;
  const float mean = rows.mean[row];
  const float rstd = rows.rstd[row];
  const auto [g_total, gn_total] = sums_over<2>(columns, [&](auto read, auto add) {
    const auto g = read(dy) * read(gain);
    add(0, g);
    add(1, g * ((read(s) - mean) * rstd));
  });
  const float count = static_cast<float>(columns);
  return {g_total / count, gn_total / count};
}

// Adds to the sums and writes nothing else: outputs may be inputs.
template <typename A>
void gather(const Rows<A>& rows, int64_t row, int64_t column, int64_t size, RowMeans means, ParameterSums& sums,
            float* ds) {
  const A* dy = rows.dy + row * rows.columns + column;
  const A* s = rows.sum + row * rows.columns + column;
  const float* gain = rows.gain + column;
  float* gain_sums = sums.data() + column;
  float* bias_sums = sums.data() + rows.columns + column;
  const float mean = rows.mean[row];
  const float rstd = rows.rstd[row];
#pragma omp simd
  for (int64_t d = 0; d < size; ++d) {
    const float gradient = load(dy + d);
    const float n = (load(s + d) - mean) * rstd;
    gain_sums[d] += gradient * n;
    bias_sums[d] += gradient;
    ds[d] = rstd * (gradient * gain[d] - means.g - n * means.gn);
  }
}

// Passes on the gradient that arrives at s, for `size` elements from `first` on.
template <typename A>
void write(const Rows<A>& rows, const Dropout& dropout, int64_t first, int64_t size, float* ds) {
  if (rows.ds_other != nullptr) add_to(ds, rows.ds_other + first, size);
  if (rows.dbranch != nullptr) {
    std::array<float, kPiece> mask;
    dropout_multipliers(dropout, static_cast<uint64_t>(first), size, mask.data());
#pragma omp simd
    for (int64_t d = 0; d < size; ++d) store(rows.dbranch + first + d, ds[d] * mask[d]);
  }
  if (rows.dx == nullptr) return;
  if (rows.accumulate_dx) add_to(ds, rows.dx + first, size);
  store_row(rows.dx + first, ds, size);
}

template <typename A>
void backward_row(const Rows<A>& rows, const Dropout& dropout, int64_t row, ParameterSums& sums) {
  const bool leaves = rows.dx != nullptr || rows.dbranch != nullptr;
  const RowMeans means = leaves ? gradient_means(rows, row) : RowMeans{};
  std::array<float, kPiece> ds;
  for (int64_t column = 0; column < rows.columns; column += kPiece) {
    const int64_t size = std::min(kPiece, rows.columns - column);
    gather(rows, row, column, size, means, sums, ds.data());
    if (leaves) write(rows, dropout, row * rows.columns + column, size, ds.data());
  }
}

// Slabs depend on the number of rows alone and are added in their order.
template <typename A>
void backward(const Queue& queue, const LayerNormBackward& args) {
  const int64_t count = args.dy.shape[0];
  const int64_t columns = args.dy.shape[1];
  const Rows<A> rows{.dy = args.dy.as<A>(),
                     .ds_other = data_of<A>(args.ds_other),
                     .sum = args.sum.as<A>(),
                     .mean = args.mean.as<float>(),
                     .rstd = args.rstd.as<float>(),
                     .gain = args.gain.as<float>(),
                     .dx = data_of<A>(args.dx),
                     .accumulate_dx = args.accumulate_dx,
                     .dbranch = data_of<A>(args.dbranch),
                     .columns = columns};
  auto* dgain = data_of<float>(args.dgain);
  auto* dbias = data_of<float>(args.dbias);
  const int64_t slabs = (count + kSlabRows - 1) / kSlabRows;
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads_for(queue, args.dy.elements()))
  for (int64_t slab = 0; slab < slabs; ++slab) {
    ParameterSums sums;
    std::fill_n(sums.data(), 2 * columns, 0.0F);
    for (int64_t row = count * slab / slabs; row < count * (slab + 1) / slabs; ++row)
      backward_row(rows, args.dropout, row, sums);
#pragma omp ordered
    if (dgain != nullptr) {
      add_to(dgain, sums.data(), columns);
      add_to(dbias, sums.data() + columns, columns);
    }
  }
}

}  // namespace

void layer_norm_forward(Queue& queue, const LayerNormForward& args) {
  with_activations(args.x.dtype, [&]<typename A>() { forward<A>(queue, args); });
}

void layer_norm_backward(Queue& queue, const LayerNormBackward& args) {
  with_activations(args.dy.dtype, [&]<typename A>() { backward<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
