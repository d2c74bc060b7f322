"""Times in PyTorch what `segue bench state` times: flash-linear-attention's plain functions, which are what it has for the CPU,
token by token and in chunks, these also compiled but for the delta rule's, which takes the compiler many minutes; and a loop
over tokens that is compiled 16 at a time. Needs torch and fla-core. Before a time counts, all are compared with the first. A
line of JSON for each length.

examples:
  venv/bin/python benchmarks/peers/state_scan_torch.py --kind gated_delta --tgt-len 512 1024
  venv/bin/python benchmarks/peers/state_scan_torch.py --kind linear --tgt-len 64 --heads 2 --d-head 16 --no-compile
"""

import argparse
import json
import os
import warnings
from collections.abc import Callable

from command_line import Parser, at_least, needs

needs("torch", "fla")
import torch  # noqa: E402

warnings.simplefilter("ignore")  # where there is no GPU, fla says that it has no Triton
from fla.ops.gated_delta_rule.naive import naive_chunk_gated_delta_rule, naive_recurrent_gated_delta_rule  # noqa: E402
from fla.ops.gla.naive import naive_recurrent_gla  # noqa: E402
from fla.ops.linear_attn.naive import naive_chunk_linear_attn, naive_recurrent_linear_attn  # noqa: E402
from torch import Tensor  # noqa: E402

from timing import add_effort_options, describe, device_named, effort_of, time_calls  # noqa: E402

CHUNK = 64  # tokens, of flash-linear-attention
AT_ONCE = 16  # tokens of the compiled loop: more take the compiler minutes
Inputs = tuple[Tensor, ...]  # q, k, v [B, T, N, H]; log decays [B, T, N] or [B, T, N, H], strengths [B, T, N]
Scan = Callable[..., Tensor]


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    parser.add_argument("--kind", choices=KINDS, default="gated_delta")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=at_least(1), default=os.cpu_count())
    parser.add_argument("--batch-size", type=at_least(1), default=1)
    parser.add_argument("--heads", type=at_least(1), default=8)
    parser.add_argument("--d-head", type=at_least(1), default=64)
    parser.add_argument("--tgt-len", type=at_least(1), nargs="+", default=[512], help="lengths, one after the other")
    parser.add_argument("--no-compile", action="store_true", help="leave out what is compiled")
    add_effort_options(parser, 0.02)
    arguments = parser.parse_args()
    if any(length % CHUNK for length in arguments.tgt_len):
        parser.error(f"--tgt-len: expected multiples of {CHUNK}, a chunk, found {' '.join(map(str, arguments.tgt_len))}")
    return arguments


def tokens_of(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, strength: Tensor, state: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """A few tokens, one after the other."""
    read = []
    for t in range(q.shape[1]):
        if kind == "gated_linear":
            state = state * decay[:, t, :, :, None].exp()
        written = v[:, t]
        if kind == "gated_delta":
            state = state * decay[:, t, :, None, None].exp()
            found = (state * k[:, t, :, :, None]).sum(-2)
            written = strength[:, t, :, None] * (written - found)
        state = state + k[:, t, :, :, None] * written[:, :, None, :]
        read.append((state * q[:, t, :, :, None]).sum(-2))
    return torch.stack(read, 1), state


def loop(kind: str) -> Scan:
    compiled = torch.compile(tokens_of, dynamic=False)

    def scan(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, strength: Tensor) -> Tensor:
        state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
        parts = []
        q = q * q.shape[-1] ** -0.5
        for rows in zip(*(tensor.split(AT_ONCE, 1) for tensor in (q, k, v, decay, strength)), strict=True):
            read, state = compiled(*rows, state, kind)
            parts.append(read)
        return torch.cat(parts, 1)

    return scan


KINDS: dict[str, Callable[[], dict[str, Scan]]] = {
    "linear": lambda: {"fla, token by token": lambda q, k, v, g, b: naive_recurrent_linear_attn(q, k, v)[0],
                       "fla, in chunks": lambda q, k, v, g, b: naive_chunk_linear_attn(q, k, v),
                       "fla, in chunks, compiled": torch.compile(lambda q, k, v, g, b: naive_chunk_linear_attn(q, k, v),
                                                                 dynamic=False)},
    "gated_linear": lambda: {"fla, token by token": lambda q, k, v, g, b: naive_recurrent_gla(q, k, v, g)[0]},
    "gated_delta": lambda: {"fla, token by token": lambda q, k, v, g, b: naive_recurrent_gated_delta_rule(q, k, v, b, g)[0],
                            "fla, in chunks": lambda q, k, v, g, b: naive_chunk_gated_delta_rule(q, k, v, g, b)[0]},
}


def random_inputs(arguments: argparse.Namespace, tgt_len: int, device: torch.device) -> Inputs:
    shape = (arguments.batch_size, tgt_len, arguments.heads)
    q, k, v = (torch.randn(*shape, arguments.d_head, device=device) for _ in range(3))
    of_decay = (*shape, arguments.d_head) if arguments.kind == "gated_linear" else shape
    decay = -torch.nn.functional.softplus(torch.randn(of_decay, device=device) - 3)
    unit = torch.nn.functional.normalize
    return unit(q, dim=-1), unit(k, dim=-1), v, decay, torch.randn(shape, device=device).sigmoid()


def measure(arguments: argparse.Namespace, tgt_len: int, device: torch.device) -> dict[str, dict]:
    inputs = random_inputs(arguments, tgt_len, device)
    with_gradients = tuple(tensor.clone().requires_grad_() for tensor in inputs)
    forms = {**KINDS[arguments.kind](), "a loop, compiled": loop(arguments.kind)}
    if arguments.no_compile:
        forms = {name: scan for name, scan in forms.items() if "compiled" not in name}
    results, expected = {}, None
    for name, scan in forms.items():

        def forward(scan: Scan = scan) -> Tensor:
            with torch.no_grad():
                return scan(*inputs)

        def both(scan: Scan = scan) -> None:
            for tensor in with_gradients:
                tensor.grad = None
            output = scan(*with_gradients)
            output.backward(torch.ones_like(output))

        output = forward()
        expected = output if expected is None else expected
        difference = ((output - expected).norm() / expected.norm()).item()
        if not difference < 1e-4:
            raise SystemExit(f"{name}, T {tgt_len}: differs from the first by {difference:.1e} of its norm")
        both()  # compiles
        results[name] = {"difference": difference, "forward": time_calls(device, effort_of(arguments), forward),
                         "forward and backward": time_calls(device, effort_of(arguments), both)}
    return results


def main() -> None:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    torch.set_num_threads(arguments.threads)
    for tgt_len in arguments.tgt_len:
        torch.manual_seed(1)
        torch.compiler.reset()
        print(json.dumps({"kind": arguments.kind, "tgt_len": tgt_len, "threads": torch.get_num_threads(),
                          "device": describe(device), "torch": torch.__version__,
                          "forms": measure(arguments, tgt_len, device)}), flush=True)


if __name__ == "__main__":
    main()
