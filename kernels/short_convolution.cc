// A convolution over a few tokens: what the arguments must be.
#include "kernels/short_convolution.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

struct Checked {
  DType a;         // of the call's activations
  Shape boundary;  // of before and after
};

Checked check_inputs(const Contract& contract, const ShortConvolutionInputs& in) {
  const DType a = contract.activation("x", in.x, 3);
  contract.rank("taps", in.taps, 2);
  const int64_t streams = in.x.shape[0], tokens = in.x.shape[1], channels = in.x.shape[2], taps = in.taps.shape[1];
  contract.floats("taps", in.taps, {channels, taps});
  contract.number("T", static_cast<double>(tokens), tokens >= 1, "at least 1");
  contract.number("S", static_cast<double>(taps), taps >= 2 && taps <= kMaxConvolutionTaps, "at least 2, at most {}",
                  kMaxConvolutionTaps);
  const Shape boundary{streams, taps - 1, channels};
  if (!in.before.empty()) contract.floats("before", in.before, boundary);
  return {a, boundary};
}

// What is written does not overlap what other parts of the call still read.
void check_apart(const Contract& contract, const ShortConvolutionInputs& in, std::string_view name,
                 TensorView written) {
  contract.disjoint(name, written, "x", in.x);
  contract.disjoint(name, written, "taps", in.taps);
}

}  // namespace

void short_convolution_forward(Queue& queue, const ShortConvolutionForward& args) {
  const Contract contract("short_convolution_forward");
  const ShortConvolutionInputs& in = args.inputs;
  const auto [a, boundary] = check_inputs(contract, in);
  contract.tensor("y", args.y, a, in.x.shape);
  contract.floats("after", args.after, boundary);
  check_apart(contract, in, "y", args.y);
  check_apart(contract, in, "after", args.after);
  contract.disjoint("y", args.y, "before", in.before);
  contract.disjoint("y", args.y, "after", args.after);
  contract.same_or_disjoint("after", args.after, "before", in.before);
  if (in.x.elements() == 0) return;
  queue.operations().short_convolution_forward(queue, args);
}

void short_convolution_backward(Queue& queue, const ShortConvolutionBackward& args) {
  const Contract contract("short_convolution_backward");
  const ShortConvolutionInputs& in = args.inputs;
  const auto [a, boundary] = check_inputs(contract, in);
  contract.tensor("dy", args.dy, a, in.x.shape);
  contract.tensor("dx", args.dx, a, in.x.shape);
  contract.floats("dtaps", args.dtaps, in.taps.shape);
  if (!args.dafter.empty()) contract.floats("dafter", args.dafter, boundary);
  if (!args.dbefore.empty()) contract.floats("dbefore", args.dbefore, boundary);
  check_apart(contract, in, "dx", args.dx);
  check_apart(contract, in, "dbefore", args.dbefore);
  contract.disjoint("dx", args.dx, "dy", args.dy);
  contract.disjoint("dbefore", args.dbefore, "dy", args.dy);
  contract.disjoint("dx", args.dx, "before", in.before);
  contract.disjoint("dbefore", args.dbefore, "before", in.before);
  contract.disjoint("dx", args.dx, "dafter", args.dafter);
  contract.disjoint("dx", args.dx, "dbefore", args.dbefore);
  contract.same_or_disjoint("dbefore", args.dbefore, "dafter", args.dafter);
  if (in.x.elements() == 0) return;
  queue.operations().short_convolution_backward(queue, args);
}

}  // namespace segue::kernels
