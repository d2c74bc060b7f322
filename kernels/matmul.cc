// Matrix products: what the arguments must be.
#include "kernels/matmul.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void matmul(Queue& queue, const Matmul& args) {
  const Contract contract("matmul");
  const DType activation = contract.activation("a", args.a, 2);
  contract.activation("b", args.b, 2);
  const int64_t m = args.a.shape[args.transpose_a ? 1 : 0];
  const int64_t k = args.a.shape[args.transpose_a ? 0 : 1];
  const int64_t n = args.b.shape[args.transpose_b ? 0 : 1];
  contract.tensor("b", args.b, activation, args.transpose_b ? Shape{n, k} : Shape{k, n});
  contract.tensor("c", args.c, args.c.dtype == DType::kFloat32 ? DType::kFloat32 : activation, {m, n});
  contract.disjoint("c", args.c, "a", args.a);
  contract.disjoint("c", args.c, "b", args.b);
  queue.operations().matmul(queue, args);
}

bool has_bfloat16_products(Device device) { return operations_of(device.kind).has_bfloat16_products(); }

}  // namespace segue::kernels
