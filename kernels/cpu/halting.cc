// Token by token, and row by row.
#include <algorithm>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// A token before a pass.
template <typename A>
struct Token {
  float total, share, rest;  // t, p and 1 - p
  bool has_halted, halts;

  Token(const HaltingInputs& in, int64_t row) {
    const float* totals = data_of<float>(in.totals);
    const float z = load(in.logits.as<A>() + row) + in.bias.as<float>()[0];
    total = totals == nullptr ? 0.0F : totals[row];
    share = sigmoid(z);
    rest = sigmoid(-z);
    has_halted = total >= 1.0F;
    halts = !has_halted && (in.is_last || total + share > 1.0F - in.epsilon);
  }
  float weight() const { return has_halted ? 0.0F : halts ? 1.0F - total : share; }
  float new_total() const { return has_halted || halts ? 1.0F : total + share; }
};

bool has_halted(const float* totals, int64_t row) { return totals != nullptr && totals[row] >= 1.0F; }

template <typename A>
void put(A* to, int64_t width, bool accumulate, const auto& value) {
#pragma omp simd
  for (int64_t c = 0; c < width; ++c) store(to + c, (accumulate ? load(to + c) : 0.0F) + value(c));
}

}  // namespace

void halting_forward(Queue& queue, const HaltingForward& args) {
  const int64_t rows = args.in.logits.shape[0];
  const bool is_first = args.in.totals.empty();
  float* weights = args.weights.as<float>();
  float* new_totals = data_of<float>(args.new_totals);
  float* passes = args.passes.as<float>();
  with_activations(args.in.logits.dtype, [&]<typename A>() {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, rows))
    for (int64_t row = 0; row < rows; ++row) {
      const Token<A> token(args.in, row);
      weights[row] = token.weight();
      if (new_totals != nullptr) new_totals[row] = token.new_total();
      passes[row] = (is_first ? 0.0F : passes[row]) + (token.has_halted ? 0.0F : 1.0F);
    }
  });
}

void halting_backward(Queue& /*queue*/, const HaltingBackward& args) {
  const int64_t rows = args.in.logits.shape[0];
  const float* dweights = args.dweights.as<float>();
  const float* dnew_totals = data_of<float>(args.dnew_totals);
  float* dtotals = data_of<float>(args.dtotals);
  with_activations(args.in.logits.dtype, [&]<typename A>() {
    A* dlogits = args.dlogits.as<A>();
    double dbias = 0.0;  // one after another: tokens are few beside what a pass makes of them
    for (int64_t row = 0; row < rows; ++row) {
      const Token<A> token(args.in, row);
      const bool goes_on = !token.has_halted && !token.halts;
      const float dnew_total = dnew_totals == nullptr ? 0.0F : dnew_totals[row];
      const float dlogit = goes_on ? token.share * token.rest * (dweights[row] + dnew_total) : 0.0F;
      store(dlogits + row, dlogit);
      dbias += static_cast<double>(dlogit);
      if (dtotals != nullptr) dtotals[row] = goes_on ? dnew_total : token.halts ? -(dweights[row] + args.ponder) : 0.0F;
    }
    if (!args.dbias.empty()) args.dbias.as<float>()[0] += static_cast<float>(dbias);
  });
}

void halted_rows_forward(Queue& queue, const HaltedRowsForward& args) {
  const int64_t rows = args.x.shape[0], width = args.x.shape[1];
  const float* totals = data_of<float>(args.totals);
  const float* weights = args.weights.as<float>();
  float* sums = args.sum.as<float>();
  with_activations(args.x.dtype, [&]<typename A>() {
    const A* from = args.x.as<A>();
    const A* before = data_of<A>(args.before);
    A* y = data_of<A>(args.y);
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.x.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      const A* x = from + row * width;
      const bool is_done = has_halted(totals, row);
      const float weight = weights[row];
      if (!is_done) put(sums + row * width, width, totals != nullptr, [=](int64_t c) { return weight * load(x + c); });
      if (y != nullptr) std::copy_n(is_done ? before + row * width : x, width, y + row * width);
    }
  });
}

void halted_rows_backward(Queue& queue, const HaltedRowsBackward& args) {
  const int64_t rows = args.x.shape[0], width = args.x.shape[1];
  const float* totals = data_of<float>(args.totals);
  const float* weights = args.weights.as<float>();
  const float* dsums = args.dsum.as<float>();
  float* dweights = args.dweights.as<float>();
  with_activations(args.x.dtype, [&]<typename A>() {
    const A* from = args.x.as<A>();
    const A* dys = data_of<A>(args.dy);
    A* dxs = args.dx.as<A>();
    A* dbefores = data_of<A>(args.dbefore);
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.x.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = row * width;
      const A* x = from + first;
      const A* dy = dys == nullptr ? nullptr : dys + first;
      const float* dsum = dsums + first;
      const float weight = weights[row];
      const bool is_done = has_halted(totals, row);
      if (is_done) {
        put(dxs + first, width, args.accumulate_dx, [](int64_t) { return 0.0F; });
      } else if (dy == nullptr) {
        put(dxs + first, width, args.accumulate_dx, [=](int64_t c) { return weight * dsum[c]; });
      } else {
        put(dxs + first, width, args.accumulate_dx, [=](int64_t c) { return load(dy + c) + weight * dsum[c]; });
      }
      if (dbefores != nullptr)
        put(dbefores + first, width, args.accumulate_dbefore, [=](int64_t c) { return is_done ? load(dy + c) : 0.0F; });
      dweights[row] =
          is_done ? 0.0F : sums_over<1>(width, [=](auto read, auto add) { add(0, read(x) * read(dsum)); })[0];
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
