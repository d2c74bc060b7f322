"""The model FLOPs of a training step, per token: what the arithmetic of the model needs, however it is computed.

Two FLOPs per multiply-add, matrix products only. A product y = x W costs as much again for each gradient that exists:
dx and dW. Products whose input takes no gradient (memory rows of a post-norm model, position vectors) have dW only.
Attention is counted on visible pairs: a causal query i of the segment sees m + i + 1 keys, with m rows of memory.
Per visible pair and head the forward has three products of length H (content, position, values) and the backward six
(dp, dq by content, dq by position, dk, dr, dv). Recomputation, masked pairs and padding are nobody's merit and not counted.
"""


def visible_keys_per_query(tgt_len: int, mem_len: int, same_length: bool) -> float:
    visible = (min(mem_len, mem_len + i + 1) if same_length else mem_len + i + 1 for i in range(tgt_len))
    return sum(visible) / tgt_len


def training_flops_per_token(vocab: int, n_layer: int, d_model: int, n_head: int, d_head: int, d_inner: int,
                             tgt_len: int, mem_len: int, batch: int, pre_lnorm: bool = False,
                             same_length: bool = False) -> float:
    """Forward and backward of a step with full memory, divided by its batch * tgt_len tokens."""
    width = n_head * d_head
    dense = 3 * (4 * d_model * width + 2 * d_model * d_inner)  # q, k, v, output; feed-forward
    memory_rows = (3 if pre_lnorm else 2) * 2 * d_model * width * mem_len / tgt_len  # k, v with today's weights
    positions = 2 * d_model * width * (mem_len + tgt_len) / (tgt_len * batch)  # r, once for the whole batch
    attention = 3 * 3 * width * visible_keys_per_query(tgt_len, mem_len, same_length)
    head = 3 * d_model * vocab
    return 2 * (n_layer * (dense + memory_rows + positions + attention) + head)
