// 16 bytes of x to a thread; the sums over rows in a pass of their own.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// log(1 + e^x)
__device__ __forceinline__ float softplus(float x) { return (x < 0.0F ? 0.0F : x) + log1pf(expf(-fabsf(x))); }

__device__ __forceinline__ float scale_of(float rate) { return expf(rate > kLargestRate ? kLargestRate : rate); }

// Of a gate: itself, and what its gradient is multiplied by on the way to x and to a rate.
template <GateFormula kFormula>
struct Gate {
  float value;
  float slope;
  float rate_slope;

  // `scale`: of the step, -e^rate of a decay
  __device__ __forceinline__ Gate(float shifted, float scale)
      : value(kFormula == GateFormula::kShare ? sigmoid(shifted) : scale * softplus(shifted)),
        slope(kFormula == GateFormula::kShare ? value * sigmoid(-shifted) : scale * sigmoid(shifted)),
        rate_slope(value) {
    if constexpr (kFormula == GateFormula::kRest) {
      const float kept = expf(value);
      slope *= -kept;
      rate_slope *= -kept;
      value = -expm1f(value);
    }
  }
};

template <typename Element>
struct Inputs {
  const Element* x;
  const float* bias;
  const float* rate;  // of formulas that have one
  int64_t columns;
};

template <GateFormula kFormula, typename Element>
__device__ __forceinline__ Gate<kFormula> gate_at(const Inputs<Element>& in, float x, int64_t column) {
  return Gate<kFormula>(x + in.bias[column], has_rate(kFormula) ? -scale_of(in.rate[column]) : 1.0F);
}

template <typename Element>
struct Forward {
  Inputs<Element> in;
  float* gates;
  int64_t count;
};

template <GateFormula kFormula, typename Element, int kWidth>
__global__ void gate_forward_kernel(Forward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  const int64_t column = element % args.in.columns;
  float x[kWidth];
  simt::load(args.in.x + element, x);
  for (int k = 0; k < kWidth; ++k) args.gates[element + k] = gate_at<kFormula>(args.in, x[k], column + k).value;
}

template <typename Element>
struct Backward {
  Inputs<Element> in;
  const float* dgates;
  Element* dx;
  int64_t count;
};

template <GateFormula kFormula, typename Element, int kWidth>
__global__ void gate_backward_kernel(Backward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  const int64_t column = element % args.in.columns;
  float x[kWidth];
  simt::load(args.in.x + element, x);
  for (int k = 0; k < kWidth; ++k) x[k] = args.dgates[element + k] * gate_at<kFormula>(args.in, x[k], column + k).slope;
  simt::store(args.dx + element, x);
}

// Of the biases, and behind them of the rates.
template <GateFormula kFormula, typename Element>
struct ParameterTerms {
  static constexpr int kSums = has_rate(kFormula) ? 2 : 1;
  Inputs<Element> in;
  const float* dgates;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[kSums][kWidth]) const {
    const int64_t first = row * in.columns + column;
    float x[kWidth];
    simt::load(in.x + first, x);
    for (int k = 0; k < kWidth; ++k) {
      const Gate<kFormula> gate = gate_at<kFormula>(in, x[k], column + k);
      sums[0][k] += dgates[first + k] * gate.slope;
      if constexpr (has_rate(kFormula)) sums[1][k] += dgates[first + k] * gate.rate_slope;
    }
  }
};

template <typename Element, typename Arguments>
Inputs<Element> inputs_of(const Arguments& args) {
  return {.x = args.x.template as<Element>(),
          .bias = args.bias.template as<float>(),
          .rate = simt::data_of<float>(args.rate),
          .columns = args.x.shape[1]};
}

template <GateFormula kFormula>
void forward(Queue& queue, const GateForward& args) {
  const int64_t count = args.x.elements();
  simt::with_access(args.x.dtype, args.x.shape[1], {args.x}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "gate_forward", {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 gate_forward_kernel<kFormula, Element, kWidth>,
                 Forward<Element>{.in = inputs_of<Element>(args), .gates = args.gates.as<float>(), .count = count});
  });
}

template <GateFormula kFormula>
void backward(Queue& queue, const GateBackward& args) {
  const int64_t count = args.x.elements();
  simt::with_access(args.x.dtype, args.x.shape[1], {args.x, args.dx}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    const Inputs<Element> in = inputs_of<Element>(args);
    const ParameterTerms<kFormula, Element> terms{.in = in, .dgates = args.dgates.as<float>()};
    std::array<float*, ParameterTerms<kFormula, Element>::kSums> totals{};
    totals.back() = simt::data_of<float>(args.drate);
    totals.front() = args.dbias.as<float>();
    simt::add_column_sums<kWidth>(queue.cuda(), "gate_backward", terms, args.x.shape[0], args.x.shape[1], totals);
    simt::launch(queue.cuda(), "gate_backward", {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 gate_backward_kernel<kFormula, Element, kWidth>,
                 Backward<Element>{.in = in, .dgates = terms.dgates, .dx = args.dx.as<Element>(), .count = count});
  });
}

template <typename Call>
void with_formula(GateFormula formula, const Call& call) {
  switch (formula) {
    case GateFormula::kShare:
      return call.template operator()<GateFormula::kShare>();
    case GateFormula::kStep:
      return call.template operator()<GateFormula::kStep>();
    case GateFormula::kDecay:
      return call.template operator()<GateFormula::kDecay>();
    case GateFormula::kRest:
      return call.template operator()<GateFormula::kRest>();
  }
}

}  // namespace

void gate_forward(Queue& queue, const GateForward& args) {
  with_formula(args.formula, [&]<GateFormula kFormula>() { forward<kFormula>(queue, args); });
}

void gate_backward(Queue& queue, const GateBackward& args) {
  with_formula(args.formula, [&]<GateFormula kFormula>() { backward<kFormula>(queue, args); });
}

}  // namespace segue::kernels::cuda
