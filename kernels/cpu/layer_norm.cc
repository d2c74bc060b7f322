// Row by row for what stays in a row; by column tiles for the gradients of gain and bias, which sum over rows.
#include "kernels/cpu/layer_norm.h"

#include <cmath>

#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/dropout_mask.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;

// The data, or null for a tensor that was left out.
template <typename View>
auto data_of(const View& view) {
  return view.empty() ? nullptr : view.template as<float>();
}

// sum[d] = x[d] + m[d] * branch[d] over row `row`.
void add_branch(const Dropout& dropout, const float* x, const float* branch, float* sum, int64_t row, int64_t columns) {
  std::array<float, kPiece> mask;
  for (int64_t first = 0; first < columns; first += kPiece) {
    const int64_t size = std::min(kPiece, columns - first);
    dropout_multipliers(dropout, static_cast<uint64_t>(row * columns + first), size, mask.data());
#pragma omp simd
    for (int64_t d = 0; d < size; ++d) sum[first + d] = std::fma(branch[first + d], mask[d], x[first + d]);
  }
}

float mean_of(const float* s, int64_t columns) {
  float total = 0.0F;
#pragma omp simd reduction(+ : total)
  for (int64_t d = 0; d < columns; ++d) total += s[d];
  return total / static_cast<float>(columns);
}

// Around the mean, in a second pass over a row that is in the cache: E[s²] - E[s]² would cancel.
float variance_of(const float* s, float mean, int64_t columns) {
  float total = 0.0F;
#pragma omp simd reduction(+ : total)
  for (int64_t d = 0; d < columns; ++d) total += (s[d] - mean) * (s[d] - mean);
  return total / static_cast<float>(columns);
}

// What the rows of a backward share.
struct Rows {
  const float* dy;
  const float* ds_other;  // or null
  const float* sum;
  const float* gain;
  float* dx;  // or null
  bool accumulate_dx;
  float* dbranch;  // or null
  int64_t columns;
};

struct RowMeans {
  float g;   // of g = dy * gain
  float gn;  // of g * n
};

RowMeans gradient_means(const Rows& rows, int64_t row, float mean, float rstd) {
  const float* dy = rows.dy + row * rows.columns;
  const float* s = rows.sum + row * rows.columns;
  float g_total = 0.0F;
  float gn_total = 0.0F;
#pragma omp simd reduction(+ : g_total, gn_total)
  for (int64_t d = 0; d < rows.columns; ++d) {
    const float g = dy[d] * rows.gain[d];
    g_total += g;
    gn_total += g * ((s[d] - mean) * rstd);
  }
  const float count = static_cast<float>(rows.columns);
  return {g_total / count, gn_total / count};
}

// One piece of a row: everything that is read at d is read before anything is written at d, so outputs may be inputs.
void write_gradients(const Rows& rows, int64_t first, int64_t size, const float* gain, float mean, float rstd,
                     RowMeans means, const float* mask) {
  const float* dy = rows.dy + first;
  const float* s = rows.sum + first;
  const float* other = rows.ds_other == nullptr ? nullptr : rows.ds_other + first;
  float* dx = rows.dx == nullptr ? nullptr : rows.dx + first;
  float* dbranch = rows.dbranch == nullptr ? nullptr : rows.dbranch + first;
#pragma omp simd
  for (int64_t d = 0; d < size; ++d) {
    const float n = (s[d] - mean) * rstd;
    float ds = rstd * (dy[d] * gain[d] - means.g - n * means.gn);
    if (other != nullptr) ds += other[d];
    if (dx != nullptr) dx[d] = rows.accumulate_dx ? dx[d] + ds : ds;
    if (dbranch != nullptr) dbranch[d] = ds * mask[d];
  }
}

void backward_row(const Rows& rows, const Dropout& dropout, int64_t row, float mean, float rstd) {
  const RowMeans means = gradient_means(rows, row, mean, rstd);
  std::array<float, kPiece> mask;
  for (int64_t column = 0; column < rows.columns; column += kPiece) {
    const int64_t size = std::min(kPiece, rows.columns - column);
    const int64_t first = row * rows.columns + column;
    if (rows.dbranch != nullptr) dropout_multipliers(dropout, static_cast<uint64_t>(first), size, mask.data());
    write_gradients(rows, first, size, rows.gain + column, mean, rstd, means, mask.data());
  }
}

void add_parameter_gradients(const Stream& stream, const LayerNormBackward& args) {
  const int64_t width = args.dy.shape[1];
  const float* dy = args.dy.as<float>();
  const float* sum = args.sum.as<float>();
  const float* mean = args.mean.as<float>();
  const float* rstd = args.rstd.as<float>();
  float* dgain = args.dgain.as<float>();
  float* dbias = args.dbias.as<float>();
  for_each_column_tile(stream, args.dy.shape[0], width,
                       [=](int64_t row, int64_t rows, int64_t column, int64_t columns) {
                         TileColumns gain_sums{};
                         TileColumns bias_sums{};
                         for (int64_t i = row; i < row + rows; ++i) {
                           const int64_t first = i * width + column;
#pragma omp simd
                           for (int64_t c = 0; c < columns; ++c) {
                             gain_sums[c] += dy[first + c] * ((sum[first + c] - mean[i]) * rstd[i]);
                             bias_sums[c] += dy[first + c];
                           }
                         }
                         add_to(dgain + column, gain_sums.data(), columns);
                         add_to(dbias + column, bias_sums.data(), columns);
                       });
}

}  // namespace

void layer_norm_forward(const Stream& stream, const LayerNormForward& args) {
  const int64_t rows = args.x.shape[0];
  const int64_t columns = args.x.shape[1];
  const float* x = args.x.as<float>();
  const float* branch = data_of(args.branch);
  float* sum = data_of(args.sum);
  const float* gain = args.gain.as<float>();
  const float* bias = args.bias.as<float>();
  float* y = args.y.as<float>();
  float* means = args.mean.as<float>();
  float* rstds = args.rstd.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(stream, args.x.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * columns;
    if (branch != nullptr) add_branch(args.dropout, x + first, branch + first, sum + first, row, columns);
    const float* s = (branch != nullptr ? sum : x) + first;
    const float mean = mean_of(s, columns);
    const float rstd = 1.0F / std::sqrt(variance_of(s, mean, columns) + args.epsilon);
    means[row] = mean;
    rstds[row] = rstd;
#pragma omp simd
    for (int64_t d = 0; d < columns; ++d) y[first + d] = std::fma((s[d] - mean) * rstd, gain[d], bias[d]);
  }
}

void layer_norm_backward(const Stream& stream, const LayerNormBackward& args) {
  add_parameter_gradients(stream, args);  // first: it reads dy, which dx may overwrite
  if (args.dx.empty() && args.dbranch.empty()) return;
  const Rows rows{args.dy.as<float>(), data_of(args.ds_other), args.sum.as<float>(),  args.gain.as<float>(),
                  data_of(args.dx),    args.accumulate_dx,     data_of(args.dbranch), args.dy.shape[1]};
  const float* mean = args.mean.as<float>();
  const float* rstd = args.rstd.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(stream, args.dy.elements()))
  for (int64_t row = 0; row < args.dy.shape[0]; ++row) backward_row(rows, args.dropout, row, mean[row], rstd[row]);
}

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
