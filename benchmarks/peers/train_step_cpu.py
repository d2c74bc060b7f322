"""Times a PyTorch peer on the processor, training (forward, backward, clip, Adam) or evaluating (forward), with full
memory from the first step. The last line printed is JSON.

examples:
  venv/bin/python benchmarks/peers/train_step_cpu.py --threads 2 --seconds 60
  venv/bin/python benchmarks/peers/train_step_cpu.py --threads 2 --seconds 60 --evaluate --authors transformer-xl
"""

import argparse
import json
import math
import os
import re
import resource
import statistics
import time
from collections.abc import Iterator

from command_line import Parser, at_least, needs

needs("torch")
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from sizes import add_size_options, sizes_of  # noqa: E402
from training_step import PRECISIONS, EvaluationStep, TrainingStep, make_model  # noqa: E402

WARM_UP_STEPS = 3


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    add_size_options(parser)
    parser.set_defaults(dropout=0.1)
    parser.add_argument("--tgt-len", type=at_least(1), default=128)
    parser.add_argument("--batch-size", type=at_least(1), default=8)
    parser.add_argument("--learning-rate", type=at_least(0, float), default=2.5e-4)
    parser.add_argument("--threads", type=at_least(1), default=2)
    parser.add_argument("--seconds", type=at_least(0, float), default=60, help="measured time, after the warm-up steps")
    parser.add_argument("--window", type=at_least(0, float), default=1, help="seconds per window; the median is over windows")
    parser.add_argument("--authors", metavar="DIR",
                        help="a checkout of kimiyoung/transformer-xl: time the model in it; default: the peer written here")
    parser.add_argument("--evaluate", action="store_true", help="the forward alone, without dropout and gradients")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32", help="bf16: training under autocast")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--data", help="train on the bytes of this file as contiguous streams; default: random tokens")
    parser.add_argument("--report-every", type=at_least(1), default=100, help="steps between losses printed with --data")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.data and not os.path.isfile(arguments.data):
        parser.error(f"--data: expected a file, found none at {arguments.data}")
    return arguments


def random_segments(arguments: argparse.Namespace) -> Iterator[tuple[Tensor, Tensor]]:
    shape = (arguments.batch_size, arguments.tgt_len + 1)
    while True:
        tokens = torch.randint(arguments.vocab_size, shape)
        yield tokens[:, :-1], tokens[:, 1:]


def file_segments(arguments: argparse.Namespace) -> Iterator[tuple[Tensor, Tensor]]:
    """Segments of `batch` contiguous streams over the file, again from the start when they end."""
    stream = torch.from_file(arguments.data, size=file_size(arguments.data), dtype=torch.uint8)
    length = len(stream) // arguments.batch_size
    if length <= arguments.tgt_len:
        raise SystemExit(f"{arguments.data}: expected more than {arguments.batch_size * (arguments.tgt_len + 1) - 1} bytes, "
                         f"found {len(stream)}")
    streams = stream[: length * arguments.batch_size].view(arguments.batch_size, length)
    while True:
        for begin in range(0, length - arguments.tgt_len, arguments.tgt_len):
            tokens = streams[:, begin : begin + arguments.tgt_len + 1].long()
            yield tokens[:, :-1], tokens[:, 1:]


def file_size(path: str) -> int:
    with open(path, "rb") as file:
        return file.seek(0, 2)


class Stepper:
    def __init__(self, arguments: argparse.Namespace):
        model = make_model(sizes_of(arguments), arguments.authors, arguments.tgt_len)
        place = {"batch": arguments.batch_size, "device": torch.device("cpu"), "precision": arguments.precision,
                 "compiled": arguments.compile}
        self.call = (EvaluationStep(model, **place) if arguments.evaluate else
                     TrainingStep(model, learning_rate=arguments.learning_rate, **place))
        self.segments = file_segments(arguments) if arguments.data else random_segments(arguments)

    def step(self) -> float:
        return self.call(*next(self.segments)).item()


class LossReport:
    """Prints the mean loss since the last line, in bits per byte, every so many steps."""

    def __init__(self, every: int):
        self.every = every
        self.losses: list[float] = []
        self.step = 0

    def add(self, loss: float) -> None:
        self.step += 1
        self.losses.append(loss)
        if self.step % self.every == 0:
            bits = statistics.fmean(self.losses) / math.log(2)
            print(json.dumps({"step": self.step, "bits_per_byte": round(bits, 4)}), flush=True)
            self.losses.clear()


def measure(stepper: Stepper, arguments: argparse.Namespace) -> list[float]:
    """Tokens per second of each window."""
    report = LossReport(arguments.report_every) if arguments.data else None
    rates, steps, end = [], 0, time.perf_counter() + arguments.seconds
    begin = time.perf_counter()
    while True:
        loss = stepper.step()
        steps += 1
        if report:
            report.add(loss)
        now = time.perf_counter()
        if now - begin >= arguments.window or now >= end and not rates:
            rates.append(steps * arguments.batch_size * arguments.tgt_len / (now - begin))
            steps, begin = 0, now
        if now >= end:
            return rates


def onednn_version() -> str | None:
    found = re.search(r"(?:oneDNN|MKL-DNN)[^\n]*? v([\d.]+)", torch.__config__.show())
    return found and found[1]


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    stepper = Stepper(arguments)
    for _ in range(WARM_UP_STEPS):
        stepper.step()
    rates = measure(stepper, arguments)
    print(json.dumps({
        "tokens_per_second": round(statistics.median(rates), 1),
        "tokens_per_second_range": [round(min(rates), 1), round(max(rates), 1)],
        "windows": len(rates),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "compiled": arguments.compile,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "onednn": onednn_version(),
    }))


if __name__ == "__main__":
    main()
