// Threads share the rows of the forward and the columns of the backward, so that no two add to one element.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 64;

int64_t pieces_of(int64_t columns) { return (columns + kPiece - 1) / kPiece; }

// Columns [first, first + size) of row `row` of a [R, columns] tensor: scale times the dropout multipliers.
std::array<float, kPiece> multipliers(const Dropout& dropout, float scale, int64_t row, int64_t columns, int64_t first,
                                      int64_t size) {
  std::array<float, kPiece> m;
  dropout_multipliers(dropout, static_cast<uint64_t>(row * columns + first), size, m.data());
#pragma omp simd
  for (int64_t d = 0; d < size; ++d) m[d] *= scale;
  return m;
}

template <typename A>
void forward(const Queue& queue, const EmbeddingForward& args) {
  const int64_t rows = args.y.shape[0];
  const int64_t columns = args.y.shape[1];
  const int32_t* tokens = args.tokens.as<int32_t>();
  const A* table = args.table.as<A>();
  const TokenRange range{args.first_token, args.table.shape[0]};
  A* y = args.y.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.y.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t first = 0; first < columns; first += kPiece) {
      const int64_t size = std::min(kPiece, columns - first);
      A* out = y + row * columns + first;
      if (!range.holds(tokens[row])) {
        std::fill_n(out, size, A(0.0F));
        continue;
      }
      const A* in = table + range.row(tokens[row]) * columns + first;
      const std::array<float, kPiece> m = multipliers(args.dropout, args.scale, row, columns, first, size);
#pragma omp simd
      for (int64_t d = 0; d < size; ++d) store(out + d, m[d] * load(in + d));
    }
  }
}

template <typename A>
void backward(const Queue& queue, const EmbeddingBackward& args) {
  const int64_t rows = args.dy.shape[0];
  const int64_t columns = args.dy.shape[1];
  const int32_t* tokens = args.tokens.as<int32_t>();
  const A* dy = args.dy.as<A>();
  const TokenRange range{args.first_token, args.dtable.shape[0]};
  float* dtable = args.dtable.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.dy.elements()))
  for (int64_t piece = 0; piece < pieces_of(columns); ++piece) {
    const int64_t first = piece * kPiece;
    const int64_t size = std::min(kPiece, columns - first);
    for (int64_t row = 0; row < rows; ++row) {
      if (!range.holds(tokens[row])) continue;
      const std::array<float, kPiece> m = multipliers(args.dropout, args.scale, row, columns, first, size);
      const A* in = dy + row * columns + first;
      float* out = dtable + range.row(tokens[row]) * columns + first;
#pragma omp simd
      for (int64_t d = 0; d < size; ++d) out[d] += m[d] * load(in + d);
    }
  }
}

}  // namespace

void embedding_forward(Queue& queue, const EmbeddingForward& args) {
  with_activations(args.y.dtype, [&]<typename A>() { forward<A>(queue, args); });
}

void embedding_backward(Queue& queue, const EmbeddingBackward& args) {
  with_activations(args.dy.dtype, [&]<typename A>() { backward<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
