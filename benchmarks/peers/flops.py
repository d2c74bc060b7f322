"""The model FLOPs of a training step, per token: what the arithmetic of the model needs, however it is computed.

Two FLOPs per multiply-add, matrix products only. A product y = x W costs as much again for each gradient that exists:
dx and dW. Products whose input takes no gradient (memory rows of a post-norm model, position vectors) have dW only.
Attention is counted on visible pairs: a causal query i of the segment sees m + i + 1 keys, with m rows of memory.
Per visible pair and head the forward has three products of length H (content, position, values) and the backward six
(dp, dq by content, dq by position, dk, dr, dv). Recomputation, masked pairs and padding are nobody's merit and not counted.
"""

from sizes import Sizes


def visible_keys_per_query(sizes: Sizes, tgt_len: int) -> float:
    """The mean over the queries of a segment, with full memory."""
    return sizes.mem_len if sizes.same_length else sizes.mem_len + (tgt_len + 1) / 2


def training_flops_per_token(sizes: Sizes, tgt_len: int, batch: int) -> float:
    """Forward and backward of a step with full memory, divided by its batch * tgt_len tokens."""
    d_model, width, mem_len = sizes.d_model, sizes.n_head * sizes.d_head, sizes.mem_len
    dense = 3 * (4 * d_model * width + 2 * d_model * sizes.d_inner)  # q, k, v, output; feed-forward
    memory_rows = (3 if sizes.pre_lnorm else 2) * 2 * d_model * width * mem_len / tgt_len  # k, v with today's weights
    positions = 2 * d_model * width * (mem_len + tgt_len) / (tgt_len * batch)  # r, once for the whole batch
    attention = 3 * 3 * width * visible_keys_per_query(sizes, tgt_len)
    head = 3 * d_model * sizes.vocab_size
    return 2 * (sizes.n_layer * (dense + memory_rows + positions + attention) + head)
