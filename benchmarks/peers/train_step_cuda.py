"""Times the training step of the PyTorch peer on a GPU: forward and backward under autocast, clip, fused Adam, with
full memory from the first step. The last line printed is JSON."""

import argparse
import json

import torch

from flops import training_flops_per_token
from sizes import add_size_options, sizes_of
from timing import add_effort_options, describe, device_named, effort_of, peak_bytes, time_calls
from training_step import PRECISIONS, TrainingStep, make_model


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_size_options(parser)
    parser.add_argument("--tgt-len", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=22)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    add_effort_options(parser, sample_seconds=0.1)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    device = device_named(arguments.device)
    torch.manual_seed(1)
    model = make_model(sizes_of(arguments), None, arguments.tgt_len)
    train = TrainingStep(model, arguments.batch_size, device, learning_rate=2.5e-4, precision=arguments.precision,
                         compiled=arguments.compile)
    text = torch.randint(arguments.vocab_size, (arguments.batch_size, arguments.tgt_len + 1), device=device)
    inputs, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def step() -> None:
        train(inputs, targets)

    timing = time_calls(device, effort_of(arguments), step)
    tokens = arguments.batch_size * arguments.tgt_len
    flops = tokens * training_flops_per_token(sizes_of(arguments), arguments.tgt_len, arguments.batch_size)
    print(json.dumps({**vars(arguments), **timing, "tokens_per_second": tokens / timing["seconds"],
                      "flops_per_second": flops / timing["seconds"], "peak_bytes": peak_bytes(device, step),
                      "gpu": describe(device), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
