// The copy of blocks: what the arguments must be.
#include "kernels/copy_block.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_range(const Contract& contract, std::string_view name, int64_t first, int64_t count, int64_t extent) {
  contract.number(name, static_cast<double>(first), first >= 0 && first <= extent - count, "in [0, {}] for {} of {}",
                  extent - count, count, extent);
}

bool apart(int64_t first, int64_t other, int64_t count) { return first + count <= other || other + count <= first; }

}  // namespace

void copy_block(Queue& queue, const CopyBlock& args) {
  const Contract contract("copy_block");
  const DType a = contract.activation("from", args.from, 3);
  contract.tensor("to", args.to, a, {args.from.shape[0], args.to.shape[1], args.to.shape[2]});
  check_range(contract, "from_row", args.from_row, args.rows, args.from.shape[1]);
  check_range(contract, "to_row", args.to_row, args.rows, args.to.shape[1]);
  check_range(contract, "from_column", args.from_column, args.columns, args.from.shape[2]);
  check_range(contract, "to_column", args.to_column, args.columns, args.to.shape[2]);
  const bool within = args.to.data == args.from.data && args.to.shape == args.from.shape;
  if (!within ||
      !(apart(args.from_row, args.to_row, args.rows) || apart(args.from_column, args.to_column, args.columns)))
    contract.disjoint("to", args.to, "from", args.from);
  if (args.from.shape[0] * args.rows * args.columns == 0) return;
  queue.operations().copy_block(queue, args);
}

}  // namespace segue::kernels
