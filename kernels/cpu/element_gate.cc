// Row by row forward; backward by tiles of columns, whose sums over rows are a bias' gradient.
#include <algorithm>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// What is added to the logits of up to kTileColumns columns.
TileColumns shifts_of(const ElementGateInputs& in, int64_t column, int64_t columns) {
  TileColumns shifts{};
  if (const float* bias = data_of<float>(in.bias); bias != nullptr)
    for (int64_t c = 0; c < columns; ++c) shifts[c] = in.bias_factor * bias[column + c];
  return shifts;
}

// Elements of a row.
template <typename A>
struct Row {
  const A* a;
  const A* b;       // null: zeros
  const A* logits;  // null: zeros

  Row(const ElementGateInputs& in, int64_t first)
      : a(in.a.as<A>() + first), b(at(in.b, first)), logits(at(in.logits, first)) {}

 private:
  static const A* at(ConstTensorView view, int64_t first) { return view.empty() ? nullptr : view.as<A>() + first; }
};

// Which of a row's parts there are, known to the compiler in loops over it.
template <bool kIsBounded, bool kHasB, bool kHasLogits>
struct Parts {
  template <typename A>
  static float passing(const Row<A>& row, int64_t c) {
    return kIsBounded ? tanh_float(load(row.a + c)) : load(row.a + c);
  }
  template <typename A>
  static float other(const Row<A>& row, int64_t c) {
    return kHasB ? load(row.b + c) : 0.0F;
  }
  template <typename A>
  static float logit(const Row<A>& row, int64_t c) {
    return kHasLogits ? load(row.logits + c) : 0.0F;
  }
  static constexpr float slope(float passed) { return kIsBounded ? (1.0F - passed) * (1.0F + passed) : 1.0F; }
};

template <typename Call>
void with_parts(const ElementGateInputs& in, const Call& call) {
  const auto with_logits = [&]<bool kIsBounded, bool kHasB>() {
    in.logits.empty() ? call(Parts<kIsBounded, kHasB, false>()) : call(Parts<kIsBounded, kHasB, true>());
  };
  const auto with_b = [&]<bool kIsBounded>() {
    in.b.empty() ? with_logits.template operator()<kIsBounded, false>()
                 : with_logits.template operator()<kIsBounded, true>();
  };
  in.is_bounded ? with_b.template operator()<true>() : with_b.template operator()<false>();
}

// Null where nobody wants the gradient.
template <typename A>
void put(const ElementGateGradient& gradient, int64_t first, const TileColumns& values, int64_t columns) {
  if (gradient.to.empty()) return;
  A* to = gradient.to.as<A>() + first;
  if (!gradient.accumulate) return store_row(to, values.data(), columns);
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) store(to + c, load(to + c) + values[c]);
}

// One row of a tile; adds the gradients of its logits to `sums`.
template <typename A, typename P>
void backward_row(const ElementGateBackward& args, P, int64_t first, int64_t columns, const TileColumns& shifts,
                  TileColumns& sums) {
  const Row<A> row(args.in, first);
  const A* dy = args.dy.as<A>() + first;
  TileColumns da, db, dlogits;
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) {
    const float z = P::logit(row, c) + shifts[c];
    const float share = sigmoid(z), rest = sigmoid(-z);
    const float passed = P::passing(row, c), arrived = load(dy + c);
    da[c] = share * arrived * P::slope(passed);
    db[c] = rest * arrived;
    dlogits[c] = share * rest * arrived * (passed - P::other(row, c));
    sums[c] += dlogits[c];
  }
  put<A>(args.da, first, da, columns);
  put<A>(args.db, first, db, columns);
  put<A>(args.dlogits, first, dlogits, columns);
}

}  // namespace

void element_gate_forward(Queue& queue, const ElementGateForward& args) {
  const ElementGateInputs& in = args.in;
  const int64_t rows = in.a.shape[0], width = in.a.shape[1];
  with_activations(in.a.dtype, [&]<typename A>() {
    with_parts(in, [&]<typename P>(P) {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, in.a.elements()))
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t column = 0; column < width; column += kTileColumns) {
          const int64_t columns = std::min(kTileColumns, width - column), first = r * width + column;
          const TileColumns shifts = shifts_of(in, column, columns);
          const Row<A> row(in, first);
          A* y = args.y.as<A>() + first;
#pragma omp simd
          for (int64_t c = 0; c < columns; ++c) {
            const float share = sigmoid(P::logit(row, c) + shifts[c]), other = P::other(row, c);
            store(y + c, other + share * (P::passing(row, c) - other));
          }
        }
      }
    });
  });
}

void element_gate_backward(Queue& queue, const ElementGateBackward& args) {
  const ElementGateInputs& in = args.in;
  const int64_t width = in.a.shape[1];
  float* dbias = data_of<float>(args.dbias);
  with_activations(in.a.dtype, [&]<typename A>() {
    with_parts(in, [&](auto parts) {
      for_each_column_tile(queue, in.a.shape[0], width,
                           [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
                             const TileColumns shifts = shifts_of(in, column, columns);
                             TileColumns sums{};
                             for (int64_t r = row; r < row + rows; ++r)
                               backward_row<A>(args, parts, r * width + column, columns, shifts, sums);
                             if (dbias == nullptr) return;
                             for (int64_t c = 0; c < columns; ++c) dbias[column + c] += in.bias_factor * sums[c];
                           });
    });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
