"""launch/checks/gpu_check: without a GPU one line and exit code 7; with programs that stand in for those of a GPU host, results
that gather over several runs, goals met and missed, failures that are noted, and no process that stays.

The first argument is the program.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from program import Program, check

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "launch" / "checks" / "gpu_check"
NO_GPU, GO_ON = 7, 75

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
found = [("training step", 1e-2)] if words[1] == "step" else [("forward", 5e-4), ("forward and backward", 15e-4)]
keys = int(after("--mem-len")) if "--mem-len" in words else 0
result = {{"setting": {{"tensor_bytes": 100 * keys, "workspace_bytes": 7}},
          "measurements": [{{"name": name, "seconds": seconds, "flops_per_second": 1e14, "share_of_peak": 0.5,
                            "tokens_per_second": 1e6}} for name, seconds in found],
          "profile": {{"parts": [{{"name": "qkv_matmul", "pass": "forward", "calls": 12, "seconds": 1e-3,
                                   "share_of_step": 0.1, "roof": "peak", "share_of_roof": 0.6}}]}}}}
if "--json" in words:
    pathlib.Path(after("--json")).write_text(json.dumps(result))
"""
# Of attention_torch.py and train_step_cuda.py, with what a library says at exit.
TORCH = """#!{python}
import json, sys
ways = {{"eager": 5e-3, "flash": 4e-4, "flex": 3e-3}}
for case in (word for word in sys.argv if ":" in word and word.split(":")[0] in ways):
    if case in {fatal}:
        sys.exit("killed by " + case)
    found = {{part: {{"seconds": ways[case.split(":")[0]]}} for part in ("forward", "forward and backward")}}
    print(json.dumps({{"case": case, **(found if case not in {failing} else {{"error": "too large"}})}}), flush=True)
if any("train_step" in word for word in sys.argv):
    print(json.dumps({{"way": "eager", "seconds": 4e-2}}))
    print(json.dumps({{"way": "compiled", "seconds": 2e-2}} if "compiled" not in {failing} else {{"way": "compiled", "error": "too new"}}))
print("{{destroy_process_group() was not called}}")
"""
KERNELS = """#!/bin/sh
echo "==PROF== Connected to process 1"
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
echo '"0","void segue::(anonymous namespace)::keys<(int)64>(float *, void (*)())","gpu__time_duration.sum","nsecond","1,500"'
echo '"1","queries","gpu__time_duration.sum","usecond","6.0"'
echo '"2","void segue::<unnamed>::keys<(int)64>(float *, void (*)())","gpu__time_duration.sum","ns","500"'
"""
SANITIZER = """#!/bin/sh
echo "========= ERROR SUMMARY: 0 errors"
"""
REFUSING_SANITIZER = """#!/bin/sh
echo "========= COMPUTE-SANITIZER"
echo "========= Error: Device not supported. Please refer to the documentation"
exit 1
"""
SLEEPER = """#!{python}
import os, pathlib, subprocess, sys, time
words = sys.argv[1:]
if "gemm" in words and not {hangs_at_once}:
    print("matrix products on cuda:0 (NVIDIA Stand-In 1), bf16")
    sys.exit()
child = subprocess.Popen(["sleep", "600"], start_new_session=False, preexec_fn=os.setpgrp)
pathlib.Path("{pids}").write_text(f"{{os.getpid()}} {{child.pid}}")
print("begun", flush=True)
time.sleep(600)
"""


def torch(program, failing=(), fatal=()):
    script(program, "torch", TORCH.format(python=sys.executable, failing=list(failing), fatal=list(fatal)))
    return program.path("torch")


def script(program, path, text):
    path = pathlib.Path(program.path(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def stand_in(program, broken_heads=0, bad_step=-1):
    script(program, "build/launch/segue/segue",
           STAND_IN.format(python=sys.executable, broken_heads=broken_heads, bad_step=bad_step))


def command_of(program, *arguments):
    return [sys.executable, SCRIPT, "--build", program.path("build"), "--output", program.path("results"), *arguments]


def gpu_check(program, *arguments, expect):
    done = subprocess.run(command_of(program, *arguments), capture_output=True, text=True, env=program.environment)
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
    stand_in(program, broken_heads=16)
    done = gpu_check(program, "--part", "attention", expect=1)
    check("segue: broken" in done.stdout and "5 of 9 cases; FAILED" in done.stdout,
          f"no failure in the table: {done.stdout}{done.stderr}")
    stand_in(program)
    gpu_check(program, "--part", "attention", "--part", "attention_turns", "--python", torch(program), expect=0)
    found, table = results(program)
    parts = found["parts"]
    check(len(parts["attention"]["results"]) == 9 and not parts["attention"]["problems"], "not every shape was measured")
    check(len(parts["attention_turns"]["results"]) == 3, f"not three rounds: {parts['attention_turns']}")
    met = {goal["goal"]: goal["met"] for goal in found["goals"]}
    check(met["B 16 N 8 H 64 T 512 M 512: forward, time over flash without positions at most 1.6"], f"goals: {met}")
    check(not met["B 16 N 8 H 64 T 512 M 512: forward and backward, time over flash without positions at most 1.8"],
          f"goals: {met}")
    check(met["attention's memory per key, long over short (linear: 1) at most 1.05"], f"goals: {met}")
    check("| B 16 N 8 H 64 T 512 M 512 | forward | 0.500 | 100.0 | 50.0% |" in table, table)
    check("| B 16 N 8 H 64 T 512 M 512 | forward | 0.500 | 5.000 | 10.00 (10.00 to 10.00) | 3.000 | 6.00 (6.00 to 6.00) | "
          "0.400 | 0.80 (0.80 to 0.80) |" in table, table)
    gpu_check(program, "--part", "states", expect=0)
    check("| gated delta, B 16 N 8 H 64 T 512 M 0 | forward | 0.500 | 100.0 | 50.0% |" in results(program)[1], results(program)[1])
    gpu_check(program, "--part", "step", "--part", "step_turns", "--python", torch(program), expect=0)
    found, table = results(program)
    check(len(found["parts"]["attention"]["results"]) == 9, "another part lost the attention's results")
    check("| enwik8_12_layers | 10.00 | 1000000 | 100.0 | 50.0% |" in table, table)
    check("| enwik8_12_layers | 10.000 | 40.000 | 4.00 (4.00 to 4.00) | 20.000 | 2.00 (2.00 to 2.00) |" in table, table)
    check("| enwik8_12_layers | qkv matmul forward | 12 | 1.000 | 10.0% | 60.0% of peak |" in table, table)


def test_peers_fail_alone(program):
    """What PyTorch cannot do is named and the rest compared; a process that ends loses its round."""
    failing = ["flash:16,8,64,512,512", "compiled"]
    python = torch(program, failing)
    gpu_check(program, "--part", "attention_turns", "--part", "step_turns", "--again", "--python", python, expect=0)
    table = results(program)[1]
    check("| B 16 N 8 H 64 T 512 M 512 | forward | 0.500 | 5.000 | 10.00 (10.00 to 10.00) | 3.000 | 6.00 (6.00 to 6.00) | "
          "- | - |" in table, table)
    check("PyTorch, flash on B 16 N 8 H 64 T 512 M 512: too large" in table, table)
    check("| enwik8_12_layers | 10.000 | 40.000 | 4.00 (4.00 to 4.00) | - | - |" in table, table)
    check("PyTorch, compiled enwik8_12_layers: too new" in table, table)
    fatal = torch(program, fatal=["eager:16,8,64,512,3584"])
    gpu_check(program, "--part", "attention_turns", "--again", "--python", fatal, expect=1)
    part = results(program)[0]["parts"]["attention_turns"]
    check(not part["results"] and len(part["problems"]) == 3 and "killed by" in part["problems"]["round 1"], f"turns: {part}")


def is_running(pid):
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def check_gone(program):
    pids = pathlib.Path(program.path("pids")).read_text().split()
    end = time.monotonic() + 10
    while any(map(is_running, pids)):
        check(time.monotonic() < end, f"on the GPU stay {pids}")
        time.sleep(0.01)


def test_what_hangs(program):
    """A command that hangs is over with --limit and takes its children with it; the second time it is its own fault."""
    def sleeper(hangs_at_once):
        script(program, "build/launch/segue/segue",
               SLEEPER.format(python=sys.executable, hangs_at_once=hangs_at_once, pids=program.path("pids")))

    sleeper(True)
    start = time.monotonic()
    done = gpu_check(program, "--limit", "1", expect=NO_GPU)
    check("no answer before --limit" in done.stderr and time.monotonic() - start < 10, f"a GPU that hangs: {done.stderr}")
    check_gone(program)
    sleeper(False)
    for _ in range(2):
        done = gpu_check(program, "--part", "step", "--again", "--limit", "1", expect=GO_ON)
        check("2 left for a later call" in done.stdout, done.stdout)
        check_gone(program)
    done = gpu_check(program, "--part", "step", "--limit", "1", expect=GO_ON)
    check("twice cut short by --limit" in done.stdout and "1 left for a later call" in done.stdout, done.stdout)
    stand_in(program)
    gpu_check(program, "--part", "step", expect=0)
    check("| step | passed |" in results(program)[1], "what failed was not tried again")
    sleeper(False)
    pathlib.Path(program.path("pids")).unlink()
    killed = subprocess.Popen(command_of(program, "--part", "step", "--again"), env=program.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(program.path("pids")) or len(open(program.path("pids")).read().split()) < 2:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    check_gone(program)
    stand_in(program)


def test_tools_of_cuda(program):
    script(program, "bin/ncu", KERNELS)
    script(program, "bin/compute-sanitizer", REFUSING_SANITIZER)
    script(program, "build/tests/kernels_gpu_test", "#!/bin/sh\n")
    path = program.environment.get("PATH")
    program.environment["PATH"] = f"{program.path('bin')}:{path}"
    gpu_check(program, "--part", "kernels", "--part", "sanitizer", expect=0)
    found, table = results(program)
    check("| enwik8_12_layers | queries | 1 | 0.006 | 75.0% |" in table, table)
    check("| enwik8_12_layers | void segue::keys<(int)64> | 2 | 0.002 | 25.0% |" in table, table)
    check("refuses this device: ========= Error: Device not supported" in found["parts"]["sanitizer"]["skipped"],
          f"{found['parts']['sanitizer']}")
    script(program, "bin/compute-sanitizer", SANITIZER)
    gpu_check(program, "--part", "sanitizer", expect=0)
    check("| sanitizer | passed |" in results(program)[1], "sanitizer: not passed")
    program.environment["PATH"] = path


def test_previous(program):
    """A call on another host goes on from the JSON of this one; from another commit's it does not."""
    (path,) = pathlib.Path(program.path("results")).glob("*.json")
    gpu_check(program, "--part", "attention", "--output", program.path("other_host"), "--previous", path, expect=0)
    (other,) = pathlib.Path(program.path("other_host")).glob("*.json")
    before, after = json.loads(path.read_text()), json.loads(other.read_text())
    check({name: part["results"] for name, part in before["parts"].items()} ==
          {name: part["results"] for name, part in after["parts"].items()}, "results were lost on the way")
    other.write_text(json.dumps({**before, "commit": "another"}))
    done = gpu_check(program, "--output", program.path("third_host"), "--previous", other, expect=1)
    check("found another" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


def test_precision(program):
    text = program.write("text.txt", b"text")
    for bad_step, met in ((-1, True), (7, False)):
        stand_in(program, bad_step=bad_step)
        gpu_check(program, "--part", "precision", "--text", text, "--again", expect=0)
        (goal,) = [goal for goal in results(program)[0]["goals"] if goal["goal"].startswith("loss over")]
        check(goal["met"] == met, f"precision: {goal}")


def test_what_is_missing(program):
    script(program, "no_torch", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\"; exit 1\n")
    gpu_check(program, "--part", "attention_turns", "--part", "precision", "--python", program.path("no_torch"), "--again",
              expect=0)
    parts = results(program)[0]["parts"]
    check("cannot import torch" in parts["attention_turns"]["skipped"], "attention_turns: not skipped")
    check("--text" in parts["precision"]["skipped"], "precision: not skipped")


def main():
    program = Program()
    test_without_gpu(program)
    del program.environment["CUDA_VISIBLE_DEVICES"]
    test_results_gather(program)
    test_peers_fail_alone(program)
    test_what_hangs(program)
    test_tools_of_cuda(program)
    test_previous(program)
    test_precision(program)
    test_what_is_missing(program)


if __name__ == "__main__":
    main()
