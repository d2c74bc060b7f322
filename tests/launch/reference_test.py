"""The reference results of the original model, reached through the command line: import, evaluate, train, export.

Second argument: a directory with args.json, model.safetensors and expected.safetensors, as computed by the authors' code
(tokens [B, 12*T+1]; eval.nll [S, T, B]; train.loss [12]; train.final.NAME). The bounds are what single precision reaches.
"""

import json
import math
import os
import shutil
import sys

from program import Program, block_losses, check, metrics
from tensor_files import read_safetensors


def largest_difference(found, expected):
    check(len(found) == len(expected), f"{len(found)} values, expected {len(expected)}")
    largest = max(abs(a - b) for a, b in zip(found, expected))
    check(math.isfinite(largest), "a difference is not finite")
    return largest


def evaluate(program, args, expected):
    rows = block_losses(program, args["batch"], "--checkpoint", "imported", "--data", "tokens", "--split", "train",
                        "--tgt-len", args["tgt_len"])
    (segments, tgt_len, streams), values = expected["eval.nll"]
    found = [rows[b][s * tgt_len + t] for s in range(segments) for t in range(tgt_len) for b in range(streams)]
    return largest_difference(found, values)


def train(program, args):
    with open(program.path("imported", "model.json")) as file:
        model = json.load(file)["model"]
    model.update(dropout=0.0, dropatt=0.0)
    config = program.config(
        "train.json", data={"path": "tokens"}, model=model, optimizer={"lr": 0.001, "clip": 0.25},
        schedule={"kind": "constant"},
        training={"batch_size": args["batch"], "tgt_len": args["tgt_len"], "max_step": 12, "log_interval": 1,
                  "init_from": "imported"},
        evaluation={"interval": 0}, checkpoint={"interval": 0})
    program.run("train", config, "--run", "run")
    return metrics(program.path("run"))


def main():
    program = Program()
    fixture = sys.argv[2]
    with open(os.path.join(fixture, "args.json")) as file:
        args = json.load(file)
    expected = read_safetensors(os.path.join(fixture, "expected.safetensors"))
    shutil.copy(os.path.join(fixture, "args.json"), program.path("args.json"))
    shutil.copy(os.path.join(fixture, "model.safetensors"), program.path("model.safetensors"))
    program.prepare_tokens("tokens", args["n_token"], train=expected["tokens"][1])
    program.run("import", "--from", "transformer-xl", "--model", "model.safetensors", "--args", "args.json", "--output",
                "imported")

    nll = evaluate(program, args, expected)
    lines = train(program, args)
    loss = largest_difference([line["loss"] for line in lines], expected["train.loss"][1])
    norm = largest_difference([line["gradient_norm"] for line in lines], expected["train.grad_norm"][1])
    program.run("export", "--checkpoint", "run", "--output", "trained.safetensors")
    trained = read_safetensors(program.path("trained.safetensors"))
    weights = max(largest_difference(trained[name[len("train.final."):]][1], values)
                  for name, (_, values) in expected.items() if name.startswith("train.final."))

    print(f"nll {nll:.2e}, loss of 12 steps {loss:.2e}, gradient norm {norm:.2e}, weights after them {weights:.2e}")
    check(nll < 2e-5, f"nll is off by {nll:.2e}, expected below 2e-5")
    check(loss < 2e-5, f"training loss is off by {loss:.2e}, expected below 2e-5")
    check(norm < 2e-4, f"gradient norm is off by {norm:.2e}, expected below 2e-4")
    check(weights < 1e-3, f"weights are off by {weights:.2e}, expected below 1e-3")


main()
