// Embedding: the door.
#include "kernels/embedding.h"

#include "kernels/check.h"
#include "kernels/cpu/embedding.h"

namespace segue::kernels {

void embedding_forward(Stream& stream, const EmbeddingForward& args) {
  const Contract contract("embedding_forward");
  contract.rank("table", args.table, 2);
  contract.indices("tokens", args.tokens, args.table.shape[0]);
  contract.floats("y", args.y, {args.tokens.shape[0], args.table.shape[1]});
  contract.disjoint("y", args.y, "table", args.table);
  contract.disjoint("y", args.y, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  cpu::embedding_forward(stream, args);
}

void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  const Contract contract("embedding_backward");
  contract.rank("dtable", args.dtable, 2);
  contract.indices("tokens", args.tokens, args.dtable.shape[0]);
  contract.floats("dy", args.dy, {args.tokens.shape[0], args.dtable.shape[1]});
  contract.disjoint("dtable", args.dtable, "dy", args.dy);
  contract.disjoint("dtable", args.dtable, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  cpu::embedding_backward(stream, args);
}

}  // namespace segue::kernels
