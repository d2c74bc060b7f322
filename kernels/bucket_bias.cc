// Biases by buckets of distances: what the arguments must be.
#include "kernels/bucket_bias.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void bucket_bias_forward(Queue& queue, const BucketBiasForward& args) {
  const Contract contract("bucket_bias_forward");
  contract.rank("table", args.table, 2);
  contract.indices("buckets", args.buckets, args.table.shape[0], queue.device());
  contract.floats("bias", args.bias, {args.table.shape[1], args.buckets.shape[0]});
  contract.disjoint("bias", args.bias, "table", args.table);
  contract.disjoint("bias", args.bias, "buckets", args.buckets);
  queue.operations().bucket_bias_forward(queue, args);
}

void bucket_bias_backward(Queue& queue, const BucketBiasBackward& args) {
  const Contract contract("bucket_bias_backward");
  contract.rank("dtable", args.dtable, 2);
  contract.indices("buckets", args.buckets, args.dtable.shape[0], queue.device());
  contract.floats("dbias", args.dbias, {args.dtable.shape[1], args.buckets.shape[0]});
  contract.disjoint("dtable", args.dtable, "dbias", args.dbias);
  contract.disjoint("dtable", args.dtable, "buckets", args.buckets);
  queue.operations().bucket_bias_backward(queue, args);
}

}  // namespace segue::kernels
