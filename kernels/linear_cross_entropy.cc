// Softmax cross-entropy against a linear layer: what the arguments must be.
#include "kernels/linear_cross_entropy.h"

#include <initializer_list>

#include "kernels/check.h"
#include "kernels/cross_entropy.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

const std::string_view kOperation = "linear_cross_entropy";

struct Named {
  std::string_view name;
  ConstTensorView view;
};

void check_layer(const Contract& contract, const LinearCrossEntropy& args, DType a) {
  const int64_t width = args.x.shape[1];
  contract.activation("table", args.table, 2);
  contract.tensor("table", args.table, a, {args.table.shape[0], width});
  contract.number("table", static_cast<double>(args.table.shape[0]), args.table.shape[0] > 0, "at least one class");
  contract.floats("bias", args.bias, {args.table.shape[0]});
  if (args.gates.empty()) return contract.absent("gate_bias", args.gate_bias, "without gates");
  contract.activation("gates", args.gates, 2);
  contract.tensor("gates", args.gates, a, {args.gates.shape[0], width});
  contract.floats("gate_bias", args.gate_bias, {args.gates.shape[0]});
}

void check_gradient(const Contract& contract, const LinearCrossEntropy& args, DType a) {
  const LinearCrossEntropyGradient& gradient = args.gradient;
  if (gradient.dx.empty()) {
    for (const Named& out : std::initializer_list<Named>{{"dtable", gradient.dtable},
                                                         {"dbias", gradient.dbias},
                                                         {"dgates", gradient.dgates},
                                                         {"dgate_bias", gradient.dgate_bias}})
      contract.absent(out.name, out.view, "without dx");
    return;
  }
  contract.tensor("dx", gradient.dx, a, args.x.shape);
  contract.floats("dtable", gradient.dtable, args.table.shape);
  contract.floats("dbias", gradient.dbias, args.bias.shape);
  if (args.gates.empty()) {
    contract.absent("dgates", gradient.dgates, "without gates");
    contract.absent("dgate_bias", gradient.dgate_bias, "without gates");
  } else {
    contract.floats("dgates", gradient.dgates, args.gates.shape);
    contract.floats("dgate_bias", gradient.dgate_bias, args.gate_bias.shape);
  }
}

// On the CPU also what the numbers say; what lies on a GPU is taken on trust.
void check_listed(const Contract& contract, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents,
                  Device device) {
  contract.tensor("columns", args.columns, DType::kInt32, {extents.rows});
  if (!extents.listed) {
    contract.absent("count", args.count, "without rows");
    return contract.indices("columns", args.columns, extents.classes, device, kNotScored);
  }
  contract.tensor("rows", args.rows, DType::kInt32, {extents.rows});
  contract.tensor("count", args.count, DType::kInt32, {1});
  if (device.is_cuda()) return;
  const int32_t count = args.count.as<int32_t>()[0];
  contract.number("count", count, count >= 0 && count <= extents.rows, "0 to {} rows", extents.rows);
  contract.indices("rows", args.rows.rows(0, count), extents.rows, device);
  const int32_t* rows = args.rows.as<int32_t>();
  const int32_t* columns = args.columns.as<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    const int32_t column = columns[rows[i]];
    if (i > 0 && rows[i] <= rows[i - 1])
      throw ContractError("{}: rows[{}]: expected more than {}, found {}", kOperation, i, rows[i - 1], rows[i]);
    if (column < 0 || column >= extents.classes)
      throw ContractError("{}: columns[{}]: expected [0, {}), found {}", kOperation, rows[i], extents.classes, column);
  }
}

void check_apart(const Contract& contract, const LinearCrossEntropy& args) {
  const LinearCrossEntropyGradient& gradient = args.gradient;
  const Named outputs[] = {{"nll", args.nll},
                           {"workspace", args.workspace},
                           {"dx", gradient.dx},
                           {"dtable", gradient.dtable},
                           {"dbias", gradient.dbias},
                           {"dgates", gradient.dgates},
                           {"dgate_bias", gradient.dgate_bias}};
  const Named inputs[] = {{"x", args.x},         {"table", args.table},         {"bias", args.bias},
                          {"gates", args.gates}, {"gate_bias", args.gate_bias}, {"columns", args.columns},
                          {"rows", args.rows},   {"count", args.count}};
  for (const Named& out : outputs) {
    for (const Named& in : inputs) contract.disjoint(out.name, out.view, in.name, in.view);
    for (const Named& other : outputs)
      if (other.name != out.name) contract.disjoint(out.name, out.view, other.name, other.view);
  }
}

}  // namespace

void linear_cross_entropy(Queue& queue, const LinearCrossEntropy& args) {
  const Contract contract(kOperation);
  const DType a = contract.activation("x", args.x, 2);
  check_layer(contract, args, a);
  const LinearCrossEntropyExtents extents = extents_of(args);
  contract.floats("nll", args.nll, {extents.rows});
  if (extents.rows == 0) return;
  check_listed(contract, args, extents, queue.device());
  check_gradient(contract, args, a);
  const int64_t needed = queue.operations().linear_cross_entropy_workspace(extents);
  contract.number("workspace", static_cast<double>(args.workspace.elements()), args.workspace.elements() >= needed,
                  "at least {} float32", needed);
  contract.floats("workspace", args.workspace, args.workspace.shape);
  check_apart(contract, args);
  queue.operations().linear_cross_entropy(queue, args);
}

LinearCrossEntropyExtents extents_of(const LinearCrossEntropy& args) {
  return {.rows = args.x.shape[0],
          .width = args.x.shape[1],
          .classes = args.table.shape[0] + (args.gates.empty() ? 0 : args.gates.shape[0]),
          .listed = !args.rows.empty(),
          .activations = args.x.dtype,
          .scratch_bytes = args.scratch_bytes};
}

int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents, DeviceKind device) {
  return operations_of(device).linear_cross_entropy_workspace(extents);
}

}  // namespace segue::kernels
