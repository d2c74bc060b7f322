// Matrix products: the door.
#include "kernels/matmul.h"

#include "kernels/check.h"
#include "kernels/cpu/matmul.h"

namespace segue::kernels {

void matmul(Stream& stream, const Matmul& args) {
  const Contract contract("matmul");
  contract.rank("a", args.a, 2);
  contract.rank("b", args.b, 2);
  const int64_t m = args.a.shape[args.transpose_a ? 1 : 0];
  const int64_t k = args.a.shape[args.transpose_a ? 0 : 1];
  const int64_t n = args.b.shape[args.transpose_b ? 0 : 1];
  contract.floats("b", args.b, args.transpose_b ? Shape{n, k} : Shape{k, n});
  contract.floats("c", args.c, {m, n});
  contract.disjoint("c", args.c, "a", args.a);
  contract.disjoint("c", args.c, "b", args.b);
  cpu::matmul(stream, args);
}

}  // namespace segue::kernels
