"""The steps whose time is measured, with full memory from the first on: training (forward, backward, clip, fused Adam)
and evaluation (forward)."""

import torch
from torch import Tensor, nn

from authors_model import AuthorsModel
from sizes import Sizes
from transformer_xl import TransformerXL

CLIP = 0.25
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def make_model(sizes: Sizes, authors: str | None, tgt_len: int) -> nn.Module:
    return AuthorsModel(sizes, authors, tgt_len) if authors else TransformerXL(sizes)


class TrainingStep:
    def __init__(self, model: nn.Module, batch: int, device: torch.device, *, learning_rate: float,
                 precision: str = "fp32", compiled: bool = False):
        model = model.to(device)
        self.parameters = list(model.parameters())
        self.memory = model.empty_memory(batch, model.sizes.mem_len)
        self.optimizer = torch.optim.Adam(self.parameters, lr=learning_rate, fused=True)
        self.forward = torch.compile(model, dynamic=False) if compiled else model
        self.autocast = torch.autocast(device.type, PRECISIONS["bf16"], enabled=precision == "bf16")

    def __call__(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The mean negative log-likelihood in nats, on the device."""
        with self.autocast:
            nll, self.memory = self.forward(tokens, targets, self.memory)
            loss = nll.mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.optimizer.step()
        return loss


class EvaluationStep:
    """bf16: weights and memory are converted once, where autocast would convert the weights for every segment."""

    def __init__(self, model: nn.Module, batch: int, device: torch.device, *, precision: str = "fp32",
                 compiled: bool = False):
        dtype = PRECISIONS[precision]
        model = model.to(device, dtype).eval()
        self.memory = [rows.to(dtype) for rows in model.empty_memory(batch, model.sizes.mem_len)]
        self.forward = torch.compile(model, dynamic=False) if compiled else model

    @torch.no_grad()
    def __call__(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The mean negative log-likelihood in nats, on the device."""
        nll, self.memory = self.forward(tokens, targets, self.memory)
        return nll.float().mean()
