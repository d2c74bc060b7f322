// Features of queries and keys: what the arguments must be.
#include "kernels/feature_map.h"

#include <cmath>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

bool reads_x(FeatureFormula formula) { return formula != FeatureFormula::kWave; }
bool reads_projections(FeatureFormula formula) {
  return formula == FeatureFormula::kExponential || formula == FeatureFormula::kWave;
}

// What is the same of all tensors of a call.
struct Rows {
  DType dtype;
  int64_t count;     // R
  int64_t features;  // K
};

void check_extent(const Contract& contract, std::string_view name, int64_t extent) {
  contract.number(name, static_cast<double>(extent), extent >= 1 && extent <= kMaxFeatures, "at least 1, at most {}",
                  kMaxFeatures);
}

Rows check_inputs(const Contract& contract, const FeatureMapInputs& in) {
  const ConstTensorView& first = reads_x(in.formula) ? in.x : in.projections;
  const DType a = contract.activation(reads_x(in.formula) ? "x" : "projections", first, 2);
  const int64_t rows = first.shape[0];
  int64_t width = 0;
  int64_t projections = 0;
  if (reads_x(in.formula)) {
    width = in.x.shape[1];
    check_extent(contract, "H", width);
  } else {
    contract.absent("x", in.x, "waves are of projections alone");
  }
  if (reads_projections(in.formula)) {
    if (in.projections.shape.rank() == 2) projections = in.projections.shape[1];
    contract.tensor("projections", in.projections, a, {rows, projections});
    check_extent(contract, "M", projections);
  } else {
    contract.absent("projections", in.projections, "the formula has none");
  }
  const double shifts = static_cast<double>(in.shifts);
  if (in.formula == FeatureFormula::kProducts) {
    contract.number("shifts", shifts, in.shifts >= 1 && in.shifts < 2 * width, "1 to {}", 2 * width - 1);
  } else {
    contract.number("shifts", shifts, in.shifts == 0, "0 but with kProducts");
  }
  if (in.formula == FeatureFormula::kExponential) {
    contract.number("scale", in.scale, in.scale > 0.0F && std::isfinite(in.scale), "above 0 and finite");
  } else {
    contract.number("scale", in.scale, in.scale == 1.0F, "1 but with kExponential");
  }
  const int64_t features = features_of(in.formula, width, projections, in.shifts);
  check_extent(contract, "K", features);
  return {.dtype = a, .count = rows, .features = features};
}

// Of the output `name`, that it lies apart from what is read.
void check_apart(const Contract& contract, std::string_view name, TensorView found, const FeatureMapInputs& in) {
  contract.disjoint(name, found, "x", in.x);
  contract.disjoint(name, found, "projections", in.projections);
}

void check_gradient(const Contract& contract, std::string_view name, TensorView found, ConstTensorView of,
                    const FeatureMapBackward& args) {
  contract.tensor(name, found, of.dtype, of.shape);
  check_apart(contract, name, found, args.inputs);
  contract.disjoint(name, found, "y", args.y);
  contract.disjoint(name, found, "dy", args.dy);
}

}  // namespace

void feature_map_forward(Queue& queue, const FeatureMapForward& args) {
  const Contract contract("feature_map_forward");
  const Rows rows = check_inputs(contract, args.inputs);
  contract.tensor("y", args.y, rows.dtype, {rows.count, rows.features});
  check_apart(contract, "y", args.y, args.inputs);
  if (rows.count == 0) return;
  queue.operations().feature_map_forward(queue, args);
}

void feature_map_backward(Queue& queue, const FeatureMapBackward& args) {
  const Contract contract("feature_map_backward");
  const FeatureMapInputs& in = args.inputs;
  const Rows rows = check_inputs(contract, in);
  if (in.formula == FeatureFormula::kExponential) contract.tensor("y", args.y, rows.dtype, {rows.count, rows.features});
  contract.tensor("dy", args.dy, rows.dtype, {rows.count, rows.features});
  if (reads_x(in.formula)) {
    check_gradient(contract, "dx", args.dx, in.x, args);
  } else {
    contract.absent("dx", args.dx, "there is no x");
  }
  if (reads_projections(in.formula)) {
    check_gradient(contract, "dprojections", args.dprojections, in.projections, args);
  } else {
    contract.absent("dprojections", args.dprojections, "there are no projections");
  }
  contract.disjoint("dx", args.dx, "dprojections", args.dprojections);
  if (rows.count == 0) return;
  queue.operations().feature_map_backward(queue, args);
}

}  // namespace segue::kernels
