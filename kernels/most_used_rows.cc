// The rows that were used most: what the arguments must be.
#include "kernels/most_used_rows.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void most_used_rows(Queue& queue, const MostUsedRows& args) {
  const Contract contract("most_used_rows");
  const DType a = contract.activation("x", args.x, 3);
  contract.activation("y", args.y, 3);
  const int64_t streams = args.x.shape[0];
  const int64_t rows = args.x.shape[1];
  const int64_t kept = args.y.shape[1];
  contract.number("rows of y", static_cast<double>(kept), kept <= rows, "at most {}", rows);
  contract.rank("received", args.received, 3);
  contract.floats("received", args.received, {streams, args.received.shape[1], rows});
  contract.floats("usage", args.usage, {streams, rows});
  contract.tensor("ranked", args.ranked, DType::kInt32, {streams, kept});
  contract.tensor("y", args.y, a, {streams, kept, args.x.shape[2]});
  for (const auto& [name, input] : {std::pair{"x", args.x}, std::pair{"received", args.received}}) {
    contract.disjoint("usage", args.usage, name, input);
    contract.disjoint("ranked", args.ranked, name, input);
    contract.disjoint("y", args.y, name, input);
  }
  if (args.y.elements() == 0) return;
  queue.operations().most_used_rows(queue, args);
}

}  // namespace segue::kernels
