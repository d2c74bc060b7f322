"""Times PyTorch's adaptive softmax, torch.nn.AdaptiveLogSoftmaxWithLoss, on the shapes of `segue bench head`: loss, and
loss with gradients of hidden states and weights. As there, the first cluster has no projection and targets are drawn as
words of a text are; other than there, words have no biases. The last line printed is JSON; its peak_bytes is what loss
and gradients take beyond weights, their gradients, hidden states and targets.

examples:
  venv/bin/python benchmarks/peers/adaptive_softmax_torch.py --threads 2
  venv/bin/python benchmarks/peers/adaptive_softmax_torch.py --vocab-size 5000 --cutoffs 500,2000 --d-model 128 --tokens 512
"""

import argparse
import json
import pathlib
import resource
from collections.abc import Callable

from command_line import Parser, at_least, needs

needs("torch")
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from timing import Effort, add_effort_options, describe, device_named, effort_of, peak_bytes, time_calls  # noqa: E402
from training_step import PRECISIONS  # noqa: E402


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--threads", type=at_least(0), default=0, help="0: as PyTorch chooses")
    parser.add_argument("--vocab-size", type=at_least(2), default=267735, help="words")
    parser.add_argument("--cutoffs", default="20000,40000,200000", help="words at which clusters begin")
    parser.add_argument("--div-val", type=at_least(1, float), default=4, help="by which each cluster is narrower than the one before")
    parser.add_argument("--d-model", type=at_least(1), default=1024)
    parser.add_argument("--tokens", type=at_least(1), default=8192)
    add_effort_options(parser, Effort.sample_seconds)
    arguments = parser.parse_args()
    try:
        borders = [0, *map(int, arguments.cutoffs.split(",")), arguments.vocab_size]
    except ValueError:
        borders = [0, 0]
    if sorted(set(borders)) != borders:
        parser.error(f"--cutoffs: expected words that rise, below {arguments.vocab_size}, such as 10,20, found {arguments.cutoffs}")
    return arguments


def zipf_words(tokens: int, vocab: int) -> Tensor:
    """The k-th word with a probability close to 1 / k."""
    return ((vocab + 1.0) ** torch.rand(tokens, dtype=torch.float64)).long().clamp(max=vocab) - 1


class Problem:
    def __init__(self, arguments: argparse.Namespace, device: torch.device):
        self.cutoffs = [int(word) for word in arguments.cutoffs.split(",")]
        dtype = PRECISIONS[arguments.precision]
        self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
            arguments.d_model, arguments.vocab_size, self.cutoffs, arguments.div_val, device=device, dtype=dtype)
        self.targets = zipf_words(arguments.tokens, arguments.vocab_size).to(device)
        self.hidden = torch.randn(arguments.tokens, arguments.d_model, device=device, dtype=dtype, requires_grad=True)
        for leaf in (*self.softmax.parameters(), self.hidden):
            leaf.grad = torch.zeros_like(leaf)

    def loss(self) -> Tensor:
        with torch.no_grad():
            return self.softmax(self.hidden, self.targets).loss

    def both(self) -> Tensor:
        loss = self.softmax(self.hidden, self.targets).loss
        loss.backward()
        return loss

    def cluster_tokens(self) -> list[int]:
        borders = [0, *self.softmax.cutoffs]
        return [int(((self.targets >= first) & (self.targets < end)).sum()) for first, end in zip(borders, borders[1:])]

    def loss_flops(self) -> int:
        """As `segue bench head` counts them."""
        (head, *tails), (_, *counts) = (self.softmax.head, *self.softmax.tail), self.cluster_tokens()
        flops = 2 * len(self.targets) * head.weight.numel()
        return flops + sum(2 * count * sum(w.numel() for w in tail.parameters()) for count, tail in zip(counts, tails))


def resident_bytes() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measured_peak(device: torch.device, call: Callable[[], Tensor]) -> int:
    """On the CPU only of the process's first call: its largest size is all that is known."""
    if device.type == "cuda":
        return peak_bytes(device, call)
    before = resident_bytes()
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def main() -> None:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    problem = Problem(arguments, device)
    effort = effort_of(arguments)
    results = {"cluster_tokens": problem.cluster_tokens(), "peak_bytes": measured_peak(device, problem.both)}
    for name, call, share in (("loss", problem.loss, 1), ("loss and gradient", problem.both, 3)):
        timing = time_calls(device, effort, call)
        flops = share * problem.loss_flops()
        results[name] = {**timing, "flops": flops, "flops_per_second": flops / timing["seconds"]}
        print(f"{name:<20}{timing['seconds'] * 1e3:>12.2f} ms{flops / timing['seconds'] / 1e9:>10.1f} GFLOP/s")
    print(f"{results['peak_bytes'] / 2**20:.0f} MiB beyond weights, gradients and inputs")
    print(json.dumps({**vars(arguments), "gpu": describe(device), "torch": torch.__version__,
                      "threads": torch.get_num_threads(), "results": results}))


if __name__ == "__main__":
    main()
