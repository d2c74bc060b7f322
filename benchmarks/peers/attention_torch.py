"""Times Transformer-XL's attention in PyTorch, on the shapes of `segue bench attention`. Each case is WAY:B,N,H,T,M, such
as flash:16,8,64,512,3584: one of three ways, streams, heads, width of a head, and the lengths of segment and memory.

eager   the scores by content and by position as two products, the second shifted by padding and reshaping, then mask,
        softmax and a product with the values: what published implementations do. Several matrices [B, N, T, M + T].
flex    FlexAttention, compiled on a GPU. A score_mod may not multiply vectors, so the scores by position come from a
        matrix product before it, [B, N, T, M + T] in memory, and the score_mod picks the one for a pair's distance; the
        backward adds their gradients at such places. Content scores, mask and softmax are fused.
flash   scaled_dot_product_attention with the flash backend, causal, without any position term: another function, with a
        third less arithmetic, that no exact method for the whole can be expected to beat.

All start from queries, keys and values of memory and segment together, [B, N, length, H], and position vectors
[N, M + T, H], the farthest first. FLOPs are counted on visible pairs: three products of length H forward and six
backward; flash has two and four. On a GPU each is timed as a CUDA graph where it can be recorded: "graph" in the JSON.
Each case prints a line of JSON when it is done, with an "error" where it failed; when all do, or one leaves the GPU
unusable, which ends the program, the exit status is 1.

examples:
  venv/bin/python benchmarks/peers/attention_torch.py eager:16,8,64,512,3584 flash:16,8,64,512,3584
  venv/bin/python benchmarks/peers/attention_torch.py --device cpu --precision fp32 --forward-only flex:2,2,8,64,64
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from command_line import Parser, needs

needs("torch")
import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.attention.bias import causal_lower_right  # noqa: E402
from torch.nn.attention.flex_attention import create_block_mask, flex_attention  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

from timing import Effort, add_effort_options, as_graph, describe, device_named, effort_of, peak_bytes, synchronize, time_calls  # noqa: E402
from training_step import PRECISIONS  # noqa: E402
from transformer_xl import shift_to_distance  # noqa: E402


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    parser.add_argument("--forward-only", action="store_true", help="FlexAttention has no backward on the CPU")
    parser.add_argument("cases", nargs="*", type=case_named, metavar="WAY:B,N,H,T,M",
                        default=[case_named(f"{way}:16,8,64,512,512") for way in WAYS])
    add_effort_options(parser, Effort.sample_seconds)
    return parser.parse_args()


@dataclass(frozen=True)
class Case:
    name: str
    way: str
    shape: tuple[int, ...]  # B, N, H, T, M


def case_named(text: str) -> Case:
    way, _, extents = text.partition(":")
    try:
        shape = tuple(map(int, extents.split(",")))
    except ValueError:
        shape = ()
    if way not in WAYS or len(shape) != 5 or min(shape[:4]) < 1 or shape[4] < 0:
        raise argparse.ArgumentTypeError(f"expected WAY:B,N,H,T,M with a way of {', '.join(WAYS)}, found {text}")
    return Case(text, way, shape)


class Problem:
    """Random inputs, and what the ways share."""

    def __init__(self, arguments: argparse.Namespace, shape: tuple[int, ...], device: torch.device):
        streams, heads, width, self.queries, self.memory = shape
        self.keys = self.queries + self.memory
        self.device = device
        self.scale = 1 / math.sqrt(width)
        self.product = 2 * streams * heads * width * sum(self.memory + i + 1 for i in range(self.queries))

        def random(*shape: int) -> Tensor:
            values = torch.randn(shape, device=device, dtype=PRECISIONS[arguments.precision])
            return values.requires_grad_(not arguments.forward_only)

        self.q = random(streams, heads, self.queries, width)
        self.k, self.v = (random(streams, heads, self.keys, width) for _ in range(2))
        self.r = random(heads, self.keys, width)
        self.u, self.w = (random(heads, 1, width) for _ in range(2))
        self.doutput = torch.randn_like(self.q)
        places = torch.arange(self.keys, device=device)
        self.hidden = places > places[self.memory:, None]

    def by_position(self) -> Tensor:
        """[B, N, T, K] by query and position vector."""
        return (self.q + self.w) @ self.r.transpose(-2, -1)


def eager(problem: Problem) -> Callable[[], Tensor]:
    def attend() -> Tensor:
        by_content = (problem.q + problem.u) @ problem.k.transpose(-2, -1)
        by_position = shift_to_distance(problem.by_position())
        scores = (by_content + by_position) * problem.scale
        return scores.masked_fill(problem.hidden, -math.inf).softmax(dim=-1) @ problem.v

    return attend


def flex(problem: Problem) -> Callable[[], Tensor]:
    memory, last = problem.memory, problem.keys - 1

    def sees(_stream, _head, query, key):
        return key <= query + memory

    mask = create_block_mask(sees, None, None, problem.queries, problem.keys, device=problem.device)

    def attend() -> Tensor:
        by_position = problem.by_position() * problem.scale

        def add_position(score, stream, head, query, key):
            vector = torch.clamp(last - (memory + query - key), max=last)  # pairs that the mask hides have none
            return score + by_position[stream, head, query, vector]

        return flex_attention(problem.q + problem.u, problem.k, problem.v, score_mod=add_position, block_mask=mask,
                              scale=problem.scale)

    return torch.compile(attend, dynamic=False) if problem.device.type == "cuda" else attend


def flash(problem: Problem) -> Callable[[], Tensor]:
    backend = SDPBackend.FLASH_ATTENTION if problem.device.type == "cuda" else SDPBackend.MATH
    bias = causal_lower_right(problem.queries, problem.keys)

    def attend() -> Tensor:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(problem.q, problem.k, problem.v, attn_mask=bias, scale=problem.scale)

    return attend


WAYS = {"eager": eager, "flex": flex, "flash": flash}


def measure(name: str, problem: Problem, effort: Effort, forward_only: bool) -> dict:
    attend = WAYS[name](problem)
    inputs = [problem.q, problem.k, problem.v]
    if name != "flash":
        inputs += [problem.r, problem.u, problem.w]

    def forward() -> Tensor:
        with torch.no_grad():
            return attend()

    def both() -> tuple[Tensor, ...]:
        return torch.autograd.grad(attend(), inputs, problem.doutput)

    products = 2 if name == "flash" else 3
    result: dict = {}
    parts = (("forward", forward, 1), ("forward and backward", both, 3))
    for part, call, share in parts[:1] if forward_only else parts:
        call()  # compiles
        taken = peak_bytes(problem.device, call)
        graph = as_graph(problem.device, call)
        timing = time_calls(problem.device, effort, graph or call)
        result[part] = {**timing, "flops_per_second": products * share * problem.product / timing["seconds"],
                        "peak_bytes": taken, "graph": graph is not None}
    if name == "flex":
        with torch.no_grad():
            expected, found = eager(problem)().float(), attend().float()
        result["difference_from_eager"] = ((found - expected).norm() / expected.norm()).item()
    return result


def measure_case(case: Case, arguments: argparse.Namespace, device: torch.device) -> dict:
    torch.manual_seed(1)
    torch.compiler.reset()
    try:
        problem = Problem(arguments, case.shape, device)
        return measure(case.way, problem, effort_of(arguments), arguments.forward_only)
    except Exception as error:  # a way may be missing from this version, or too large for this device
        return {"error": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"}


def print_table(name: str, result: dict) -> None:
    for part in ("forward", "forward and backward"):
        if part in result:
            found = result[part]
            mib = "-" if found["peak_bytes"] is None else f"{found['peak_bytes'] / 2**20:.0f}"
            print(f"{name:<30}{part:<22}{found['seconds'] * 1e3:>10.4f} ms{found['flops_per_second'] / 1e12:>9.2f} TFLOP/s"
                  f"{mib:>8} MiB")


def is_usable(device: torch.device) -> bool:
    """After some errors a GPU refuses whatever this process asks for."""
    try:
        synchronize(device)
        return True
    except RuntimeError:
        return False


def main() -> int:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    setting = {key: value for key, value in vars(arguments).items() if key != "cases"}
    failures = 0
    for case in arguments.cases:
        result = measure_case(case, arguments, device)
        print_table(case.name, result)
        print(json.dumps({"case": case.name, **setting, "gpu": describe(device), "torch": torch.__version__, **result}),
              flush=True)
        failures += "error" in result
        if not is_usable(device):
            return 1
    return failures == len(arguments.cases)


if __name__ == "__main__":
    sys.exit(main())
