// Embedding: the door.
#include "kernels/embedding.h"

#include "kernels/check.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cuda/embedding.h"

namespace segue::kernels {

void embedding_forward(Stream& stream, const EmbeddingForward& args) {
  const Contract contract("embedding_forward");
  const DType a = contract.activation("table", args.table, 2, stream.device());
  contract.indices("tokens", args.tokens, args.table.shape[0], stream.device());
  contract.tensor("y", args.y, a, {args.tokens.shape[0], args.table.shape[1]});
  contract.disjoint("y", args.y, "table", args.table);
  contract.disjoint("y", args.y, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  if (stream.device().is_cuda()) return cuda::embedding_forward(stream, args);
  cpu::embedding_forward(stream, args);
}

void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  const Contract contract("embedding_backward");
  contract.rank("dtable", args.dtable, 2);
  contract.indices("tokens", args.tokens, args.dtable.shape[0], stream.device());
  const DType a = contract.activation("dy", args.dy, 2, stream.device());
  contract.tensor("dy", args.dy, a, {args.tokens.shape[0], args.dtable.shape[1]});
  contract.disjoint("dtable", args.dtable, "dy", args.dy);
  contract.disjoint("dtable", args.dtable, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  if (stream.device().is_cuda()) return cuda::embedding_backward(stream, args);
  cpu::embedding_backward(stream, args);
}

}  // namespace segue::kernels
