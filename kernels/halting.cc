// Adaptive computation time: what the arguments must be.
#include "kernels/halting.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, const HaltingInputs& in) {
  const DType dtype = contract.activation("logits", in.logits, 1);
  contract.floats("bias", in.bias, {1});
  if (!in.totals.empty()) contract.floats("totals", in.totals, in.logits.shape);
  contract.number("epsilon", static_cast<double>(in.epsilon), in.epsilon > 0.0F && in.epsilon < 1.0F,
                  "above 0, below 1");
  return dtype;
}

}  // namespace

void halting_forward(Queue& queue, const HaltingForward& args) {
  const Contract contract("halting_forward");
  check_inputs(contract, args.in);
  const Shape& rows = args.in.logits.shape;
  contract.floats("weights", args.weights, rows);
  contract.floats("passes", args.passes, rows);
  if (args.in.is_last) {
    contract.absent("new_totals", args.new_totals, "the pass is the last");
  } else {
    contract.floats("new_totals", args.new_totals, rows);
  }
  if (rows.elements() == 0) return;
  queue.operations().halting_forward(queue, args);
}

void halting_backward(Queue& queue, const HaltingBackward& args) {
  const Contract contract("halting_backward");
  const DType dtype = check_inputs(contract, args.in);
  const Shape& rows = args.in.logits.shape;
  contract.floats("dweights", args.dweights, rows);
  if (args.in.is_last) {
    contract.absent("dnew_totals", args.dnew_totals, "the pass is the last");
  } else {
    contract.floats("dnew_totals", args.dnew_totals, rows);
  }
  contract.tensor("dlogits", args.dlogits, dtype, rows);
  if (args.in.totals.empty()) {
    contract.absent("dtotals", args.dtotals, "there are no totals");
  } else {
    contract.floats("dtotals", args.dtotals, rows);
  }
  if (!args.dbias.empty()) contract.floats("dbias", args.dbias, {1});
  for (const auto& [name, output] : {std::pair{"dlogits", args.dlogits}, {"dtotals", args.dtotals}}) {
    contract.disjoint(name, output, "logits", args.in.logits);
    contract.disjoint(name, output, "totals", args.in.totals);
    contract.disjoint(name, output, "dweights", args.dweights);
    contract.disjoint(name, output, "dnew_totals", args.dnew_totals);
  }
  contract.disjoint("dtotals", args.dtotals, "dlogits", args.dlogits);
  if (rows.elements() == 0) return;
  queue.operations().halting_backward(queue, args);
}

void halted_rows_forward(Queue& queue, const HaltedRowsForward& args) {
  const Contract contract("halted_rows_forward");
  const DType dtype = contract.activation("x", args.x, 2);
  const Shape& shape = args.x.shape;
  contract.floats("weights", args.weights, {shape[0]});
  contract.floats("sum", args.sum, shape);
  if (!args.totals.empty()) contract.floats("totals", args.totals, {shape[0]});
  if (args.totals.empty()) contract.absent("y", args.y, "there are no totals");
  if (args.y.empty()) {
    contract.absent("before", args.before, "there is no y");
  } else {
    contract.tensor("y", args.y, dtype, shape);
    contract.tensor("before", args.before, dtype, shape);
    contract.disjoint("y", args.y, "x", args.x);
    contract.disjoint("y", args.y, "before", args.before);
    contract.disjoint("y", args.y, "sum", args.sum);
  }
  contract.disjoint("sum", args.sum, "x", args.x);
  if (shape.elements() == 0) return;
  queue.operations().halted_rows_forward(queue, args);
}

void halted_rows_backward(Queue& queue, const HaltedRowsBackward& args) {
  const Contract contract("halted_rows_backward");
  const DType dtype = contract.activation("x", args.x, 2);
  const Shape& shape = args.x.shape;
  contract.floats("weights", args.weights, {shape[0]});
  contract.floats("dsum", args.dsum, shape);
  contract.tensor("dx", args.dx, dtype, shape);
  contract.floats("dweights", args.dweights, {shape[0]});
  if (!args.totals.empty()) contract.floats("totals", args.totals, {shape[0]});
  if (args.totals.empty()) contract.absent("dy", args.dy, "there are no totals");
  if (args.dy.empty()) {
    contract.absent("dbefore", args.dbefore, "there is no dy");
  } else {
    contract.tensor("dy", args.dy, dtype, shape);
    contract.tensor("dbefore", args.dbefore, dtype, shape);
    for (const auto& [name, output] : {std::pair{"dx", args.dx}, {"dbefore", args.dbefore}})
      contract.disjoint(name, output, "dy", args.dy);
    contract.disjoint("dbefore", args.dbefore, "dx", args.dx);
    contract.disjoint("dbefore", args.dbefore, "x", args.x);
  }
  contract.disjoint("dx", args.dx, "x", args.x);
  contract.disjoint("dx", args.dx, "dsum", args.dsum);
  if (shape.elements() == 0) return;
  queue.operations().halted_rows_backward(queue, args);
}

}  // namespace segue::kernels
