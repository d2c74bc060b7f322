// Curves of distance: what the arguments must be.
#include "kernels/distance_curve.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_span(const Contract& contract, CurveFormula formula, const SpanExtents& span) {
  if (formula != CurveFormula::kSpan) return;
  contract.number("span.longest", span.longest, span.longest > 0.0, "above 0");
  contract.number("span.ramp", span.ramp, span.ramp > 0.0, "above 0");
}

// The second number of a head, and its gradient, are of the formulas that have one.
void check_second(const Contract& contract, CurveFormula formula, std::string_view name, ConstTensorView values,
                  int64_t heads) {
  if (formula == CurveFormula::kSpan) return contract.absent(name, values, "with kSpan");
  contract.floats(name, values, {heads});
}

}  // namespace

void distance_curve_forward(Queue& queue, const DistanceCurveForward& args) {
  const Contract contract("distance_curve_forward");
  contract.rank("curve", args.curve, 2);
  const int64_t heads = args.curve.shape[0];
  contract.floats("alpha", args.alpha, {heads});
  check_second(contract, args.formula, "beta", args.beta, heads);
  check_span(contract, args.formula, args.span);
  contract.disjoint("curve", args.curve, "alpha", args.alpha);
  contract.disjoint("curve", args.curve, "beta", args.beta);
  queue.operations().distance_curve_forward(queue, args);
}

void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args) {
  const Contract contract("distance_curve_backward");
  contract.rank("dcurve", args.dcurve, 2);
  const int64_t heads = args.dcurve.shape[0];
  contract.floats("alpha", args.alpha, {heads});
  contract.floats("dalpha", args.dalpha, {heads});
  check_second(contract, args.formula, "beta", args.beta, heads);
  check_second(contract, args.formula, "dbeta", args.dbeta, heads);
  check_span(contract, args.formula, args.span);
  for (const auto& [name, sums] :
       {std::pair<std::string_view, ConstTensorView>{"dalpha", args.dalpha}, {"dbeta", args.dbeta}}) {
    contract.disjoint(name, sums, "alpha", args.alpha);
    contract.disjoint(name, sums, "beta", args.beta);
    contract.disjoint(name, sums, "dcurve", args.dcurve);
  }
  contract.disjoint("dbeta", args.dbeta, "dalpha", args.dalpha);
  queue.operations().distance_curve_backward(queue, args);
}

}  // namespace segue::kernels
