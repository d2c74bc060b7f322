"""The program with a GPU, here the emulated one: the CPU's losses, also from two ranks with a GPU each, and runs that go
on bit for bit.

The first argument is the program with the emulated GPU.
"""

import json
import resource
import shutil
import subprocess

from job import Job
from program import TINY_MODEL, check, check_same_run, metrics

STEPS = 4
CONFIG_ERROR, DEVICE_ERROR = 3, 7


def write_config(program, **training):
    return program.config(
        "run.json", data={"path": "text"}, model=TINY_MODEL, schedule={"kind": "constant"},
        training=dict({"batch_size": 3, "batch_chunk": 2, "tgt_len": 16, "max_step": STEPS, "log_interval": 2}, **training),
        evaluation={"interval": 3, "batch_size": 2, "max_tokens": 64}, checkpoint={"interval": 2})


def check_near(expected, found, share, what):
    expected, found = ([line["loss"] for line in metrics(run)] for run in (expected, found))
    check(len(expected) == len(found), f"{what}: {len(found)} lines of metrics, expected {len(expected)}")
    for a, b in zip(expected, found):
        check(abs(a - b) <= share * a, f"{what}: loss {b}, expected {a}")


def refused(program, code, word, *overrides):
    arguments = [argument for override in overrides for argument in ("--set", override)]
    _, errors = program.run("train", write_config(program), *arguments, "--run", "refused", expect=code)
    check(word in errors, f"{overrides}: expected {word!r} in {errors}")


def refuse_what_does_not_fit(program):
    """38 GB of segment memory, and 4 GiB of address space for the emulated GPU's."""
    process = subprocess.run(
        [program.binary, "train", write_config(program), "--set", "training.batch_size=300", "--set", "model.mem_len=1000000",
         "--run", "large"], cwd=program.directory, env=program.environment, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
    check(process.returncode == DEVICE_ERROR, f"too large: exit {process.returncode}, expected {DEVICE_ERROR}: {process.stderr}")
    for word in ("out of memory", "asked for", "lower training.batch_size (300)", "model.mem_len (1000000)"):
        check(word in process.stderr, f"too large: expected {word!r} in {process.stderr}")


def train_on_two_gpus(job, config):
    if shutil.which("mpirun") is None:
        print("not shown for want of mpirun: two ranks")
        return
    for communicator, name in (("auto", "NCCL"), ("mpi", "MPI")):
        _, log = job.run_ranks(2, "train", config, "--set", f"training.communicator={communicator}", "--run", name)
        check(f"(2 ranks over {name}, 2 here)" in log, f"{communicator}: expected {name} in {log}")
        check_near(job.path("gpu"), job.path(name), 1e-4, f"two GPUs over {name}")


def main():
    program = Job()
    program.prepare_text("text", 1000, seed=1)
    config = write_config(program)
    program.run("train", config, "--set", "training.device=cpu", "--run", "cpu")
    _, log = program.run("train", config, "--run", "gpu")
    check("cuda:0 (emulated GPU" in log and "activations" in log, f"the log lacks device or memory: {log}")
    with open(program.path("gpu", "metrics.jsonl")) as lines:
        steps = [line for line in map(json.loads, lines) if "evaluation" not in line]
    check(steps and all(line["mfu"] > 0 for line in steps), f"no mfu on the GPU: {steps}")
    check_near(program.path("cpu"), program.path("gpu"), 1e-4, "float32")
    program.run("train", config, "--set", "training.precision=bf16", "--run", "bf16")
    check_near(program.path("cpu"), program.path("bf16"), 0.01, "bfloat16")

    train_on_two_gpus(program, config)

    program.run("train", config, "--set", "training.max_step=2", "--run", "again")
    program.run("train", config, "--run", "again", "--resume")
    check_same_run(program.path("gpu"), program.path("again"), STEPS, "resumed on the GPU", ended_at=2)

    outputs = [program.run("eval", "--checkpoint", "gpu", "--data", "text", "--max-tokens", 64, "--device", device, "--quiet")[0]
               for device in ("cpu", "cuda")]
    losses = [float(output.split("nats per token")[0].split()[-1]) for output in outputs]
    check(abs(losses[0] - losses[1]) <= 2e-5, f"evaluation: {losses[1]} on the GPU, {losses[0]} on the CPU")

    refused(program, DEVICE_ERROR, "cuda:1: no such device", "training.device=cuda:1")
    refuse_what_does_not_fit(program)
    refused(program, CONFIG_ERROR, "model.d_head: expected at most 128", "model.d_head=130")


main()
