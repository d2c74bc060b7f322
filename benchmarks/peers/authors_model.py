"""The original authors' MemTransformerLM, imported from a checkout of kimiyoung/transformer-xl, behind the interface of
the peer written here. None of their code is part of this repository."""

import pathlib
import sys

import torch
from torch import Tensor, nn

from sizes import Sizes


class AuthorsModel(nn.Module):
    """tokens, targets [B, T] -> negative log-likelihood [T, B] in nats, and the memory of the next segment."""

    def __init__(self, sizes: Sizes, checkout: str, tgt_len: int):
        super().__init__()
        self.sizes = sizes
        self.model = import_authors(checkout).MemTransformerLM(
            sizes.vocab_size, sizes.n_layer, sizes.n_head, sizes.d_model, sizes.d_head, sizes.d_inner, sizes.dropout,
            sizes.dropatt, tie_weight=True, d_embed=sizes.d_model, div_val=1, tie_projs=[False],
            pre_lnorm=sizes.pre_lnorm, tgt_len=tgt_len, ext_len=0, mem_len=sizes.mem_len, cutoffs=[],
            same_length=sizes.same_length, attn_type=0, clamp_len=sizes.clamp_len, sample_softmax=-1)
        for parameter in self.model.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0, 0.02)

    def empty_memory(self, batch: int, length: int = 0) -> list[Tensor]:
        shape = (length, batch, self.sizes.d_model)
        return [torch.zeros(shape) for _ in range(self.sizes.n_layer + 1)]

    def forward(self, tokens: Tensor, targets: Tensor, memory: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        nll, *memory = self.model(tokens.t().contiguous(), targets.t().contiguous(), *memory)
        return nll, memory


def import_authors(checkout: str):
    """Their masks are bytes, which PyTorch no longer takes: here they become booleans, the only thing that is changed."""
    folder = pathlib.Path(checkout) / "pytorch"
    if not (folder / "mem_transformer.py").exists():
        raise SystemExit(f"{checkout}: expected a checkout of kimiyoung/transformer-xl with pytorch/mem_transformer.py")
    sys.path[:0] = [str(folder), str(folder / "utils")]
    torch.Tensor.byte = torch.Tensor.bool
    import mem_transformer
    return mem_transformer
