// Embedding: what the arguments must be.
#include "kernels/embedding.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_tokens(const Contract& contract, ConstTensorView tokens, int64_t first_token, int64_t rows,
                  int64_t vocabulary, Device device) {
  const int64_t end = first_token + rows;
  contract.number("first_token", static_cast<double>(first_token), first_token >= 0, "0 or more");
  if (vocabulary != 0)
    contract.number("vocabulary", static_cast<double>(vocabulary), vocabulary >= end,
                    "at least the {} tokens that the table ends with", end);
  contract.indices("tokens", tokens, vocabulary != 0 ? vocabulary : end, device);
}

}  // namespace

void embedding_forward(Queue& queue, const EmbeddingForward& args) {
  const Contract contract("embedding_forward");
  const DType a = contract.activation("table", args.table, 2);
  check_tokens(contract, args.tokens, args.first_token, args.table.shape[0], args.vocabulary, queue.device());
  contract.tensor("y", args.y, a, {args.tokens.shape[0], args.table.shape[1]});
  contract.disjoint("y", args.y, "table", args.table);
  contract.disjoint("y", args.y, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  queue.operations().embedding_forward(queue, args);
}

void embedding_backward(Queue& queue, const EmbeddingBackward& args) {
  const Contract contract("embedding_backward");
  contract.rank("dtable", args.dtable, 2);
  check_tokens(contract, args.tokens, args.first_token, args.dtable.shape[0], args.vocabulary, queue.device());
  const DType a = contract.activation("dy", args.dy, 2);
  contract.tensor("dy", args.dy, a, {args.tokens.shape[0], args.dtable.shape[1]});
  contract.disjoint("dtable", args.dtable, "dy", args.dy);
  contract.disjoint("dtable", args.dtable, "tokens", args.tokens);
  contract.probability("dropout.p", args.dropout.p);
  queue.operations().embedding_backward(queue, args);
}

}  // namespace segue::kernels
