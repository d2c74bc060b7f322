"""Times PyTorch's FlexAttention, compiled, with the masks of `segue bench attention --visibility`. FlexAttention skips
blocks in which nothing is seen, as Segue skips tiles; their width is a choice, so each of --block-sizes is timed. On the
CPU it has no backward. Before a time counts, the function's results are compared with a plain softmax over masked
scores, up to --checked keys, and the pairs that the mask lets through are counted. A line of JSON for each length.

examples:
  venv/bin/python benchmarks/peers/sparse_attention_torch.py --tgt-len 512 1024
  venv/bin/python benchmarks/peers/sparse_attention_torch.py --visibility '{"kind": "sparse", "patterns": [{"kind": "window", "window": 32}]}'
"""

import argparse
import functools
import json
import math
import operator
import os

from command_line import Parser, at_least, needs

needs("torch")
import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.attention.flex_attention import BlockMask, flex_attention  # noqa: E402

from timing import add_effort_options, describe, device_named, effort_of, time_calls  # noqa: E402
from training_step import PRECISIONS  # noqa: E402

PATTERNS = {"window": ["window"], "strided": ["stride"], "dilated": ["window", "stride"]}  # with the keys of each
ROWS = 1024  # of masks that are looked at together


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--threads", type=at_least(1), default=os.cpu_count())
    parser.add_argument("--batch-size", type=at_least(1), default=1)
    parser.add_argument("--heads", type=at_least(1), default=8)
    parser.add_argument("--d-head", type=at_least(1), default=64)
    parser.add_argument("--tgt-len", type=at_least(1), nargs="+", default=[512], help="lengths, one after the other")
    parser.add_argument("--mem-len", type=at_least(0), default=0)
    parser.add_argument("--visibility", type=visibility_of, default={"kind": "causal"}, help="causal or sparse, as JSON")
    parser.add_argument("--block-sizes", type=at_least(1), nargs="+", default=[64, 128])
    parser.add_argument("--checked", type=at_least(0), default=1024, help="keys up to which results are compared")
    add_effort_options(parser, 0.02)
    return parser.parse_args()


def visibility_of(text: str) -> dict:
    try:
        visibility = json.loads(text)
        if visibility["kind"] == "causal" or visibility["kind"] == "sparse" and all(map(is_pattern, visibility["patterns"])):
            return visibility
    except (ValueError, KeyError, TypeError):
        pass
    raise argparse.ArgumentTypeError(f"expected causal or sparse visibility with patterns of {', '.join(PATTERNS)}, found {text}")


def is_pattern(pattern: dict) -> bool:
    return all(pattern[key] >= 1 for key in PATTERNS[pattern["kind"]]) and all(head >= 0 for head in pattern.get("heads", []))


def patterns_of_heads(visibility: dict, heads: int) -> list[list[dict]]:
    """For each head what it sees; [] is everything before the query."""
    if visibility["kind"] == "causal":
        return [[] for _ in range(heads)]
    return [[pattern for pattern in visibility["patterns"] if head in pattern.get("heads", range(heads))]
            for head in range(heads)]


def is_seen(patterns: list[dict], distance: Tensor) -> Tensor:
    """Whether one of the patterns names these distances, which may be negative: the future."""
    seen = distance >= 0
    ways = [is_named(pattern, distance) for pattern in patterns]
    return seen & functools.reduce(operator.or_, ways) if ways else seen


def is_named(pattern: dict, distance: Tensor) -> Tensor:
    if pattern["kind"] == "window":
        return distance < pattern["window"]
    named = distance % pattern["stride"] == 0
    return named & (distance < pattern["window"] * pattern["stride"]) if pattern["kind"] == "dilated" else named


def mask_function(kinds: list[list[dict]], of_heads: list[int], memory: int):
    """A mask_mod; FlexAttention makes C++ of it, with one choice for each run of heads that see the same."""
    runs = [head for head in range(1, len(of_heads)) if of_heads[head] != of_heads[head - 1]]

    def sees(_stream: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        distance = query + memory - key
        seen = is_seen(kinds[of_heads[0]], distance)
        for first in runs:
            seen = torch.where(head >= first, is_seen(kinds[of_heads[first]], distance), seen)
        return seen

    return sees


class Problem:
    """Random inputs, and what is seen of them."""

    def __init__(self, arguments: argparse.Namespace, queries: int, device: torch.device):
        self.queries, self.memory, self.device = queries, arguments.mem_len, device
        self.keys = self.memory + queries
        patterns = patterns_of_heads(arguments.visibility, arguments.heads)
        self.kinds = [kind for i, kind in enumerate(patterns) if kind not in patterns[:i]]
        self.of_heads = [self.kinds.index(kind) for kind in patterns]
        self.sees = mask_function(self.kinds, self.of_heads, self.memory)

        def random(length: int) -> Tensor:
            return torch.randn((arguments.batch_size, arguments.heads, length, arguments.d_head), device=device,
                               dtype=PRECISIONS[arguments.precision])

        self.places = torch.arange(self.keys, dtype=torch.int32, device=device)
        self.q, self.k, self.v = random(queries), random(self.keys), random(self.keys)

    def rows(self, head: int, first: int, count: int) -> Tensor:
        """What FlexAttention's own function lets some queries of a head see."""
        queries = self.places[first:min(first + count, self.queries), None]
        return self.sees(torch.tensor(0), torch.tensor(head), queries, self.places)

    def block_mask(self, size: int) -> tuple[BlockMask, list[int], list[int]]:
        """The mask, and for every kind of head the pairs seen and the blocks visited."""
        down, across = -(-self.queries // size), -(-self.keys // size)
        counts = torch.zeros(len(self.kinds), down, across, dtype=torch.int64, device=self.device)
        for number in range(len(self.kinds)):
            step = max(1, ROWS // size)
            for block in range(0, down, step):
                rows = self.rows(self.of_heads.index(number), block * size, step * size)
                room = torch.zeros(-(-len(rows) // size) * size, across * size, dtype=torch.bool, device=self.device)
                room[:len(rows), :self.keys] = rows
                of_blocks = room.view(-1, size, across, size).sum((1, 3))
                counts[number, block:block + len(of_blocks)] = of_blocks
        whole = counts == size * size
        partial = (counts > 0) & ~whole
        heads = torch.tensor(self.of_heads, device=self.device)
        lists = [part for chosen in (partial, whole) for part in lists_of(chosen[heads][None])]
        mask = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=self.sees,
                                        seq_lengths=(self.queries, self.keys), compute_q_blocks=False)
        return mask, counts.sum((1, 2)).tolist(), (counts > 0).sum((1, 2)).tolist()

    def mean(self, of_kinds: list[int]) -> float:
        """Over the heads."""
        return sum(of_kinds[number] for number in self.of_heads) / len(self.of_heads)

    def plain(self) -> Tensor:
        seen = torch.stack([self.rows(head, 0, self.queries) for head in range(len(self.of_heads))])
        scores = self.q @ self.k.transpose(-2, -1) / math.sqrt(self.q.shape[-1])
        return scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ self.v


def lists_of(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of keys each block of queries visits, and which, these first."""
    order = torch.argsort(chosen.int(), dim=-1, descending=True, stable=True)
    return chosen.sum(-1, dtype=torch.int32), order.to(torch.int32)


def measure(problem: Problem, arguments: argparse.Namespace) -> dict:
    attend = torch.compile(flex_attention, dynamic=False)
    result: dict = {"blocks": {}}
    for size in arguments.block_sizes:
        mask, pairs, blocks = problem.block_mask(size)

        def forward(mask: BlockMask = mask) -> Tensor:
            with torch.no_grad():
                return attend(problem.q, problem.k, problem.v, block_mask=mask)

        forward()  # compiles
        found = {"visited": problem.mean(blocks), "pairs": problem.mean(pairs)}
        if problem.keys <= arguments.checked:
            expected = problem.plain()
            found["difference_from_plain"] = ((forward() - expected).norm() / expected.norm()).item()
        result["blocks"][size] = {**found, **time_calls(problem.device, effort_of(arguments), forward)}
    return result


def main() -> None:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    torch.set_num_threads(arguments.threads)
    for length in arguments.tgt_len:
        torch.manual_seed(1)
        torch.compiler.reset()
        result = measure(Problem(arguments, length, device), arguments)
        print(json.dumps({"tgt_len": length, "mem_len": arguments.mem_len, "threads": torch.get_num_threads(),
                          "device": describe(device), "torch": torch.__version__, **result}), flush=True)


if __name__ == "__main__":
    main()
