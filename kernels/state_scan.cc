// States that tokens write and read: what the arguments must be.
#include "kernels/state_scan.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

struct StateExtents {
  int64_t b, t, n, k, v;
  Shape state() const { return {b, n, k, v}; }
  Shape kept(Device device) const { return {b, n, kept_states(t, device.kind), k, v}; }
};

// Returns the extents of the call and the dtype of its activations.
std::pair<StateExtents, DType> check_inputs(const Contract& contract, const StateScanInputs& in) {
  const DType a = contract.activation("q", in.q, 4);
  contract.activation("v", in.v, 4);
  const StateExtents e{in.q.shape[0], in.q.shape[1], in.q.shape[2], in.q.shape[3], in.v.shape[3]};
  contract.tensor("k", in.k, a, in.q.shape);
  contract.tensor("v", in.v, a, {e.b, e.t, e.n, e.v});
  contract.number("T", static_cast<double>(e.t), e.t >= 1, "at least 1");
  contract.number("K", static_cast<double>(e.k), e.k >= 1 && e.k <= kMaxStateKeys, "at least 1, at most {}",
                  kMaxStateKeys);
  contract.number("V", static_cast<double>(e.v), e.v >= 1 && e.v <= kMaxStateValues, "at least 1, at most {}",
                  kMaxStateValues);
  if (!in.log_decay.empty()) {
    const int rank = in.log_decay.shape.rank();
    contract.number("rank of log_decay", rank, rank == 1 || rank == 3 || rank == 4, "1, 3 or 4");
    contract.floats("log_decay", in.log_decay,
                    rank == 1   ? Shape{e.n}
                    : rank == 3 ? Shape{e.b, e.t, e.n}
                                : Shape{e.b, e.t, e.n, e.k});
  }
  if (!in.beta.empty()) contract.floats("beta", in.beta, {e.b, e.t, e.n});
  if (!in.initial.empty()) contract.floats("initial", in.initial, e.state());
  return {e, a};
}

}  // namespace

void state_scan_forward(Queue& queue, const StateScanForward& args) {
  const Contract contract("state_scan_forward");
  const auto [e, a] = check_inputs(contract, args.inputs);
  contract.tensor("output", args.output, a, {e.b, e.t, e.n, e.v});
  contract.floats("final", args.final, e.state());
  contract.same_or_disjoint("final", args.final, "initial", args.inputs.initial);
  if (!args.kept.empty()) contract.floats("kept", args.kept, e.kept(queue.device()));
  if (e.b * e.n == 0) return;
  queue.operations().state_scan_forward(queue, args);
}

void state_scan_backward(Queue& queue, const StateScanBackward& args) {
  const Contract contract("state_scan_backward");
  const StateScanInputs& in = args.inputs;
  const auto [e, a] = check_inputs(contract, in);
  contract.floats("kept", args.kept, e.kept(queue.device()));
  contract.tensor("doutput", args.doutput, a, {e.b, e.t, e.n, e.v});
  if (!args.dfinal.empty()) contract.floats("dfinal", args.dfinal, e.state());
  contract.tensor("dq", args.dq, a, in.q.shape);
  contract.tensor("dk", args.dk, a, in.k.shape);
  contract.tensor("dv", args.dv, a, in.v.shape);
  if (in.log_decay.empty() || in.log_decay.shape.rank() == 1) {
    contract.absent("dlog_decay", args.dlog_decay, "no decay is learned");
  } else {
    contract.floats("dlog_decay", args.dlog_decay, in.log_decay.shape);
  }
  if (in.beta.empty()) {
    contract.absent("dbeta", args.dbeta, "there is no beta");
  } else {
    contract.floats("dbeta", args.dbeta, in.beta.shape);
  }
  contract.floats("dinitial", args.dinitial, e.state());
  contract.same_or_disjoint("dinitial", args.dinitial, "dfinal", args.dfinal);
  if (e.b * e.n == 0) return;
  queue.operations().state_scan_backward(queue, args);
}

}  // namespace segue::kernels
