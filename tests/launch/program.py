"""Drives the program as a user would: shared by the tests beside this file."""

import hashlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

TINY_MODEL = {
    "n_layer": 2, "n_head": 2, "d_model": 32, "d_head": 12, "d_inner": 48, "mem_len": 24, "dropout": 0.1, "dropatt": 0.1,
}

# What makes of it a model that predicts masked tokens.
MASKED = {"objective": {"kind": "masked"}, "visibility": {"kind": "full"}, "position": {"kind": "rope"}}

# What makes of it a model whose layers keep their keys and values from segment to segment.
KEYS_VALUES = {"memory": {"kind": "keys_values"}}


class Program:
    """The `segue` binary given as the first argument, run in a directory of its own."""

    def __init__(self):
        self.binary = os.path.abspath(sys.argv[1])
        self.keeper = tempfile.TemporaryDirectory(prefix="segue-test-")
        self.directory = self.keeper.name
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def start(self, *arguments):
        return subprocess.Popen([self.binary, *map(str, arguments)], cwd=self.directory, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def run(self, *arguments, expect=0):
        process = self.start(*arguments)
        output, errors = process.communicate()
        if expect is not None and process.returncode != expect:
            sys.exit(f"segue {' '.join(map(str, arguments))}\nexit {process.returncode}, expected {expect}\n{output}{errors}")
        return output, errors

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def config(self, name, **groups):
        return self.write(name, json.dumps(groups))

    def prepare_text(self, name, bytes_of_text, seed):
        """A dataset of made-up words: 80 % to train, 10 % to validate, 10 % to test."""
        source = random.Random(seed)
        words = ["".join(source.choice("abcdefghij") for _ in range(source.randint(1, 7))) for _ in range(50)]
        text = ""
        while len(text) < bytes_of_text:
            text += source.choice(words) + source.choice("    \n")
        self.write(name + ".txt", text[:bytes_of_text])
        self.run("prepare", "--input", name + ".txt", "--split", "0.8,0.1,0.1", "--output", name)

    def prepare_tokens(self, name, vocabulary, **splits):
        """A dataset of the given token lists."""
        arguments = []
        for split, tokens in splits.items():
            self.write(f"{name}-{split}.bin", struct.pack(f"<{len(tokens)}H", *tokens))
            arguments += [f"--{split}", f"{name}-{split}.bin"]
        self.run("prepare", *arguments, "--format", "uint16", "--vocab-size", vocabulary, "--output", name)


def cpu_flags():
    """What the processor has beyond x86-64, as Linux names it: "avx512f", "avx512_bf16"."""
    return pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()


def is_exact_by_row():
    """Whether a token's loss is the same to the bit whatever rows are multiplied beside its own (kernels/cpu/gemm.h)."""
    return "avx512f" in cpu_flags()


def check(condition, message):
    if not condition:
        sys.exit("failed: " + message)


class TooLate(Exception):
    """A run was over before it was killed."""


def until_in_time(program, run, attempt):
    """What `attempt` returns, which kills this run at moments. A machine that others use may be slower to kill than a run
    of steps this small is to end: then the run is removed, and all begins anew."""
    for _ in range(8):
        try:
            return attempt()
        except TooLate:
            shutil.rmtree(program.path(run))
    sys.exit(f"failed: {run}: eight times it was over before it was killed")


def refused(program, code, *arguments, says=(), leaves_nothing_at=None):
    """One line of error with these words, and no file or directory whose name holds `leaves_nothing_at`."""
    _, errors = program.run(*arguments, expect=code)
    lines = [line for line in errors.splitlines() if line.startswith("segue: ")]
    check(len(lines) == 1, f"{arguments}: expected one line of error, found:\n{errors}")
    for word in says:
        check(word in lines[0], f"{arguments}: expected {word!r} in: {lines[0]}")
    if leaves_nothing_at:
        beside = [name for name in os.listdir(program.directory) if leaves_nothing_at in name]
        check(not beside, f"{arguments}: left behind {beside}")


def metrics(run):
    """The lines of metrics.jsonl without what depends on the clock."""
    with open(os.path.join(run, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    clock = ("time", "seconds", "tokens_per_second", "model_flops_per_second", "mfu", "exchange_seconds", "exposed_exchange_seconds")
    return [{key: value for key, value in line.items() if key not in clock} for line in lines]


def final_tensors(run, step):
    """Digest of every tensor file of a checkpoint."""
    directory = os.path.join(run, "checkpoints", f"step-{step:08d}")
    digests = {}
    for name in sorted(os.listdir(directory)):
        if name.endswith(".safetensors"):
            with open(os.path.join(directory, name), "rb") as file:
                digests[name] = hashlib.sha256(file.read()).hexdigest()
    with open(os.path.join(directory, "state.json")) as file:
        state = json.load(file)
    return digests, {key: value for key, value in state.items() if key != "seconds"}


def check_same_run(expected, found, step, what, ended_at=None):
    """`found` may have ended once after the step `ended_at`, which is then evaluated and may be the best, where a run that
    goes on has no evaluation."""
    lines = [line for line in metrics(found) if "evaluation" not in line or line["step"] != ended_at]
    check(metrics(expected) == lines, f"{what}: metrics.jsonl differs")
    (tensors, state), (found_tensors, found_state) = final_tensors(expected, step), final_tensors(found, step)
    check(tensors == found_tensors, f"{what}: the tensors of the last checkpoint differ")
    of_evaluations = ("evaluations", "best_loss", "best_step") if ended_at else ()
    differing = [key for key in state if key not in of_evaluations and state[key] != found_state[key]]
    check(not differing and state.keys() == found_state.keys(), f"{what}: the state differs in {differing}")


def evaluate(program, *arguments):
    """The only result of `segue eval`, with its files in the directory `evaluated`."""
    program.run("eval", *arguments, "--output", "evaluated", "--force", "--quiet")
    return read_evaluation(program.path("evaluated"))["results"][0]


def read_evaluation(directory):
    with open(os.path.join(directory, "evaluation.json")) as file:
        return json.load(file)


def read_losses(program, file):
    """The datasets `nll` and `targets` of a per-token file, read by HDF5's own tool."""
    rows = {}
    for name, code in (("nll", "f"), ("targets", "i")):
        raw = program.path(name + ".raw")
        subprocess.run(["h5dump", "-d", name, "-b", "LE", "-o", raw, program.path(file)], check=True, capture_output=True)
        with open(raw, "rb") as data:
            rows[name] = [value for (value,) in struct.iter_unpack("<" + code, data.read())]
    return rows


def block_losses(program, blocks, *arguments):
    """The losses of an evaluation that cuts the split into so many blocks, block by block: all but each one's first."""
    result = evaluate(program, "--batch-size", blocks, "--per-token", *arguments)
    nll = read_losses(program, os.path.join("evaluated", result["per_token"]))["nll"]
    length = len(nll) // blocks
    return [nll[b * length + 1:(b + 1) * length] for b in range(blocks)]
