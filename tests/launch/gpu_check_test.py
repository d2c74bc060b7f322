"""launch/gpu_check: without a GPU one line and exit code 7; with programs that stand in for those of a GPU host, results
that gather over several runs, goals met and missed, and failures that are noted.

The first argument is the program.
"""

import json
import os
import pathlib
import subprocess
import sys

from program import Program, check

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "launch" / "gpu_check"
NO_GPU = 7

# Prints what the checks read: attention takes half a millisecond forward and one and a half in all, losses fall.
STAND_IN = """#!{python}
import json, os, pathlib, sys
words = sys.argv[1:]
after = lambda name: words[words.index(name) + 1]
if words[0] == "train":
    precision = next(word for word in words if word.startswith("training.precision=")).split("=")[1]
    run = pathlib.Path(after("--run"))
    run.mkdir()
    losses = [4 - step / 10 + (0.1 if precision == "bf16" and step == {bad_step} else 0.0) for step in range(20)]
    (run / "metrics.jsonl").write_text("".join(json.dumps({{"loss": loss}}) + "\\n" for loss in losses))
if words[0] != "bench":
    sys.exit(0)
if words[1] == "attention" and after("--heads") == "{broken_heads}":
    sys.exit("segue: broken")
print("matrix products on cuda:0 (NVIDIA Stand-In 1), bf16")
found = [("forward", 5e-4), ("forward and backward", 15e-4)] if words[1] == "attention" else [("training step", 1e-2)]
keys = int(after("--mem-len")) if "--mem-len" in words else 0
result = {{"setting": {{"tensor_bytes": 100 * keys, "workspace_bytes": 7}},
          "measurements": [{{"name": name, "seconds": seconds, "flops_per_second": 1e14, "share_of_peak": 0.5,
                            "tokens_per_second": 1e6}} for name, seconds in found]}}
if "--json" in words:
    pathlib.Path(after("--json")).write_text(json.dumps(result))
"""
TORCH = """#!{python}
import json, sys
if sys.argv[1] != "-c":
    ways = {{"eager": 5e-3, "flash": 4e-4}}
    parts = ("forward", "forward and backward")
    print(json.dumps({{"tokens_per_second": 5e5, "results": [{{"name": "flex", "error": "not here"}}] + [
        {{"name": name, **{{part: {{"seconds": seconds}} for part in parts}}}} for name, seconds in ways.items()]}}))
"""


def script(program, path, text):
    path = pathlib.Path(program.path(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def stand_in(program, broken_heads=0, bad_step=-1):
    script(program, "build/launch/segue/segue",
           STAND_IN.format(python=sys.executable, broken_heads=broken_heads, bad_step=bad_step))


def gpu_check(program, *arguments, expect):
    command = [sys.executable, SCRIPT, "--build", program.path("build"), "--output", program.path("results"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=program.environment)
    check(done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done


def results(program):
    (path,) = pathlib.Path(program.path("results")).glob("nvidia-stand-in-1-*.json")
    return json.loads(path.read_text()), path.with_suffix(".md").read_text()


def test_without_gpu(program):
    script(program, "build/launch/segue/segue", f"#!/bin/sh\nexec {program.binary} \"$@\"\n")
    program.environment["CUDA_VISIBLE_DEVICES"] = ""
    done = gpu_check(program, expect=NO_GPU)
    lines = done.stderr.strip().splitlines()
    check(len(lines) == 1 and "no GPU can be used here" in lines[0], f"expected one line, found: {lines}")
    check(not os.path.exists(program.path("results")), "results of no GPU")


def test_results_gather(program):
    torch = program.path("torch")
    script(program, "torch", TORCH.format(python=sys.executable))
    stand_in(program, broken_heads=16)
    done = gpu_check(program, "--part", "attention", expect=1)
    check("segue: broken" in done.stdout, "the table does not name the failure")
    stand_in(program)
    gpu_check(program, "--part", "attention", "--part", "attention_peers", "--python", torch, expect=0)
    found, table = results(program)
    check(len(found["parts"]["attention"]["results"]) == 9, "not every shape was measured")
    check(len(found["parts"]["attention"]["commands"]) == 9 + 4, "measured again what was there")
    met = {goal["goal"]: goal["met"] for goal in found["goals"]}
    check(met["B 16 N 8 H 64 T 512 M 512: forward, time over flash without positions at most 1.6"], f"goals: {met}")
    check(not met["B 16 N 8 H 64 T 512 M 512: forward and backward, time over flash without positions at most 1.8"],
          f"goals: {met}")
    check(met["attention's memory per key, long over short (linear: 1) at most 1.05"], f"goals: {met}")
    check("| B 16 N 8 H 64 T 512 M 512 | forward | 0.500 | 100.0 | 50.0% | 5.000 | - | 0.400 |" in table, table)
    gpu_check(program, "--part", "step", "--part", "step_peers", "--python", torch, expect=0)
    found, table = results(program)
    check(len(found["parts"]["attention"]["results"]) == 9, "another part lost the attention's results")
    check("| enwik8_12_layers | 10.00 | 1000000 | 100.0 | 50.0% | 500000 |" in table, table)


def test_precision(program):
    text = program.write("text.txt", b"text")
    for bad_step, met in ((-1, True), (7, False)):
        stand_in(program, bad_step=bad_step)
        gpu_check(program, "--part", "precision", "--text", text, "--again", expect=0)
        (goal,) = [goal for goal in results(program)[0]["goals"] if goal["goal"].startswith("loss over")]
        check(goal["met"] == met, f"precision: {goal}")


def test_what_is_missing(program):
    script(program, "no_torch", "#!/bin/sh\nexit 1\n")
    gpu_check(program, "--part", "attention_peers", "--part", "precision", "--python", program.path("no_torch"), "--again",
              expect=0)
    parts = results(program)[0]["parts"]
    check("cannot import torch" in parts["attention_peers"]["skipped"], "attention_peers: not skipped")
    check("--text" in parts["precision"]["skipped"], "precision: not skipped")
    gpu_check(program, "--part", "step", "--again", "--limit", "0", expect=1)
    check("--limit" in results(program)[0]["parts"]["step"]["problem"], "step: not cut short")


def main():
    program = Program()
    test_without_gpu(program)
    del program.environment["CUDA_VISIBLE_DEVICES"]
    test_results_gather(program)
    test_precision(program)
    test_what_is_missing(program)


if __name__ == "__main__":
    main()
