"""Times the training step of the PyTorch peer on a GPU, eager, compiled or both: forward and backward under autocast, clip,
fused Adam, with full memory from the first step. Each way prints a line of JSON when it is done, with an "error" where it
failed; when all do, the exit status is 1.

examples:
  venv/bin/python benchmarks/peers/train_step_cuda.py --ways eager compiled --n-layer 12 --d-model 512 --n-head 8 --d-inner 2048
  venv/bin/python benchmarks/peers/train_step_cuda.py --device cpu --precision fp32 --tgt-len 32 --batch-size 2 --samples 2
"""

import argparse
import gc
import json
import sys

from command_line import Parser, at_least, needs

needs("torch")
import torch  # noqa: E402

from flops import training_flops_per_token  # noqa: E402
from sizes import add_size_options, sizes_of  # noqa: E402
from timing import add_effort_options, describe, device_named, effort_of, peak_bytes, time_calls  # noqa: E402
from training_step import PRECISIONS, TrainingStep, make_model  # noqa: E402

WAYS = ("eager", "compiled")


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["eager"], help="with torch.compile or without")
    add_size_options(parser)
    parser.add_argument("--tgt-len", type=at_least(1), default=512)
    parser.add_argument("--batch-size", type=at_least(1), default=22)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    add_effort_options(parser, sample_seconds=0.1)
    return parser.parse_args()


def measure(way: str, arguments: argparse.Namespace, device: torch.device) -> dict:
    torch.manual_seed(1)
    model = make_model(sizes_of(arguments), None, arguments.tgt_len)
    train = TrainingStep(model, arguments.batch_size, device, learning_rate=2.5e-4, precision=arguments.precision,
                         compiled=way == "compiled")
    text = torch.randint(arguments.vocab_size, (arguments.batch_size, arguments.tgt_len + 1), device=device)
    inputs, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def step() -> None:
        train(inputs, targets)

    timing = time_calls(device, effort_of(arguments), step)
    tokens = arguments.batch_size * arguments.tgt_len
    flops = tokens * training_flops_per_token(sizes_of(arguments), arguments.tgt_len, arguments.batch_size)
    return {**timing, "tokens_per_second": tokens / timing["seconds"], "flops_per_second": flops / timing["seconds"],
            "peak_bytes": peak_bytes(device, step)}


def main() -> int:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    setting = {key: value for key, value in vars(arguments).items() if key != "ways"}
    failures = 0
    for way in arguments.ways:
        try:
            result = measure(way, arguments, device)
        except Exception as error:  # it may be too large for this device
            result = {"error": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"}
        failures += "error" in result
        print(json.dumps({"way": way, **setting, **result, "gpu": describe(device), "torch": torch.__version__}), flush=True)
        gc.collect()  # the model's cycles hold its tensors
    return int(failures == len(arguments.ways))


if __name__ == "__main__":
    sys.exit(main())
