"""Times the training step of the PyTorch peer on a GPU: forward and backward under autocast, clip, fused Adam, with
full memory from the first step. The last line printed is JSON."""

import argparse
import json
from dataclasses import fields

import torch

from flops import training_flops_per_token
from sizes import Sizes
from timing import Effort, describe, device_named, peak_bytes, time_calls
from train_step_cpu import option, sizes_of
from transformer_xl import TransformerXL

CLIP = 0.25


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Sizes):
        if field.type is not bool:
            parser.add_argument(option(field.name), type=field.type, default=field.default)
        else:
            parser.add_argument(option(field.name), action="store_true")
    parser.add_argument("--tgt-len", type=int, default=512)
    parser.add_argument("--batch", type=int, default=22)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--sample-seconds", type=float, default=0.1)
    return parser.parse_args()


class Step:
    """One training step on random tokens, again and again."""

    def __init__(self, arguments: argparse.Namespace, device: torch.device):
        model = TransformerXL(sizes_of(arguments)).to(device)
        self.parameters = list(model.parameters())
        self.memory = model.empty_memory(arguments.batch, arguments.mem_len)
        self.optimizer = torch.optim.Adam(self.parameters, lr=2.5e-4, fused=True)
        self.forward = torch.compile(model, dynamic=False) if arguments.compile else model
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=arguments.precision == "bf16")
        tokens = torch.randint(arguments.vocab, (arguments.batch, arguments.tgt_len + 1), device=device)
        self.tokens, self.targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def __call__(self) -> None:
        with self.autocast:
            nll, self.memory = self.forward(self.tokens, self.targets, self.memory)
            loss = nll.mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.optimizer.step()


def main() -> None:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    torch.manual_seed(1)
    step = Step(arguments, device)
    timing = time_calls(device, Effort(arguments.warm_up, arguments.samples, arguments.sample_seconds), step)
    tokens = arguments.batch * arguments.tgt_len
    flops = tokens * training_flops_per_token(sizes_of(arguments), arguments.tgt_len, arguments.batch)
    print(json.dumps({**vars(arguments), **timing, "tokens_per_second": tokens / timing["seconds"],
                      "flops_per_second": flops / timing["seconds"], "peak_bytes": peak_bytes(device, step),
                      "gpu": describe(device), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
