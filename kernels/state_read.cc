// Reads of a state: what the arguments must be.
#include "kernels/state_read.h"

#include "kernels/check.h"
#include "kernels/operations.h"
#include "kernels/state_scan.h"

namespace segue::kernels {

namespace {

// Checks q, the state and a [B, T, N, V] tensor of that name, and returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, ConstTensorView q, ConstTensorView state, std::string_view name,
                   ConstTensorView values) {
  const DType a = contract.activation("q", q, 4);
  contract.activation(name, values, 4);
  const int64_t b = q.shape[0], t = q.shape[1], n = q.shape[2], k = q.shape[3], v = values.shape[3];
  contract.tensor(name, values, a, {b, t, n, v});
  contract.number("T", static_cast<double>(t), t >= 1, "at least 1");
  contract.number("K", static_cast<double>(k), k >= 1 && k <= kMaxStateKeys, "at least 1, at most {}", kMaxStateKeys);
  contract.number("V", static_cast<double>(v), v >= 1 && v <= kMaxStateValues, "at least 1, at most {}",
                  kMaxStateValues);
  contract.floats("state", state, {b, n, k, v});
  return a;
}

}  // namespace

void state_read_forward(Queue& queue, const StateReadForward& args) {
  const Contract contract("state_read_forward");
  check_inputs(contract, args.q, args.state, "output", args.output);
  contract.disjoint("output", args.output, "q", args.q);
  contract.disjoint("output", args.output, "state", args.state);
  if (args.q.elements() == 0) return;
  queue.operations().state_read_forward(queue, args);
}

void state_read_backward(Queue& queue, const StateReadBackward& args) {
  const Contract contract("state_read_backward");
  const DType a = check_inputs(contract, args.q, args.state, "doutput", args.doutput);
  if (!args.dq.empty()) {
    contract.tensor("dq", args.dq, a, args.q.shape);
    contract.disjoint("dq", args.dq, "q", args.q);
    contract.disjoint("dq", args.dq, "state", args.state);
    contract.disjoint("dq", args.dq, "doutput", args.doutput);
  }
  if (!args.dstate.empty()) {
    contract.floats("dstate", args.dstate, args.state.shape);
    contract.disjoint("dstate", args.dstate, "state", args.state);
  }
  if (args.q.elements() == 0) return;
  queue.operations().state_read_backward(queue, args);
}

}  // namespace segue::kernels
