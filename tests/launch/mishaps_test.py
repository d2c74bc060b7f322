"""What may go wrong while all input is right: a signal, a loss that is not finite, a standard stream that is closed, a disk that
fills up. One line that names what and where, an exit code of its own, nothing half written.
"""

import os
import resource
import signal
import subprocess
import sys
import time

from program import TINY_MODEL, Program, check, refused

DATA, FILE, DIVERGED, INTERRUPTED = 4, 6, 10, 75


def config(program, name="run.json", model=None, **training):
    return program.config(
        name, data={"path": "text"}, model=dict(TINY_MODEL, **(model or {})),
        training=dict({"batch_size": 3, "tgt_len": 16, "max_step": 4, "log_interval": 1}, **training),
        evaluation={"interval": 0}, checkpoint={"interval": 2})


def test_signal(program):
    file = config(program, "long.json", max_step=1000000)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        process = program.start("train", file, "--run", f"run-{number}")
        checkpoints = program.path(f"run-{number}", "checkpoints")
        while not os.path.isdir(checkpoints) or not any(name.startswith("step-") for name in os.listdir(checkpoints)):
            check(process.poll() is None, "ended before the signal")
            time.sleep(0.01)
        refused(program, FILE, "train", file, "--run", f"run-{number}", "--resume",
                says=["in use by ", f" pid {process.pid}"])
        process.send_signal(number)
        _, errors = process.communicate()
        check(process.returncode == INTERRUPTED, f"signal {number}: exit {process.returncode}, expected {INTERRUPTED}")
        check("--resume" in errors, f"signal {number}: {errors}")


def test_repeated_signal(program):
    """timeout signals its child and then its group: the second is no person who asks again."""
    file = config(program, "endless.json", max_step=1000000)
    process = subprocess.run(["timeout", "--preserve-status", "-s", "INT", "1.5", program.binary, "train", file, "--run", "wrapped"],
                             cwd=program.directory, env=program.environment, capture_output=True, text=True)
    check(process.returncode == INTERRUPTED, f"exit {process.returncode}, expected {INTERRUPTED}")
    lines = [line for line in process.stderr.splitlines() if line.startswith("segue: ")]
    check(lines[0] == "segue: stopping after this step; again after 2 seconds to quit without saving" and len(lines) == 2, lines)
    check("--resume" in lines[1], lines)


def test_divergence(program):
    """Weights that overflow at the first step, and a run whose weights do after a good checkpoint."""
    huge = {"init": {"init_std": 1e25}}
    refused(program, DIVERGED, "train", config(program, "huge.json", huge), "--run", "huge", says=["step 1: ", "before any update of the weights: look at model.init"])
    program.run("train", config(program, "good.json", max_step=2), "--run", "good")
    rising = config(program, "rising.json", max_step=500)
    refused(program, DIVERGED, "train", rising, "--run", "good", "--resume", "--set", "optimizer.lr=1000", "--set",
            "optimizer.kind=adamw", "--set", "optimizer.weight_decay=1",
            says=["step ", 'split "train": the ', "step-000", "resume with a lower optimizer.lr than 1000", "schedule.warmup_step than"])
    refused(program, DIVERGED, "train", rising, "--run", "evaluated", "--set", "optimizer.lr=1000", "--set", "optimizer.kind=adamw",
            "--set", "optimizer.weight_decay=1", "--set", "evaluation.interval=1",
            says=["step ", ": text: split \"valid\": the loss of token ", "the last good checkpoint is evaluated/checkpoints/step-"])


def test_broken_weights(program):
    """Of a checkpoint that is whole: every command says with which one, of which split or text, where, and what to try."""
    rising = config(program, "rising.json", max_step=3)
    program.run("train", rising, "--run", "overflowing", "--set", "optimizer.lr=1000", "--set", "optimizer.kind=adamw", "--set",
                "optimizer.weight_decay=1", "--set", "evaluation.interval=0", "--set", "schedule.kind=constant", "--quiet")
    program.write("story.txt", "abc def " * 9)
    of = ["with checkpoint ", "overflowing", "or they are broken: try "]
    refused(program, DIVERGED, "eval", "--checkpoint", "overflowing", "--data", "text", "--mem-len", 7, "--quiet",
            says=["text: split \"test\": the loss of token 1 is", "mem_len 7", "try the lengths of training (tgt_len ", *of])
    refused(program, DIVERGED, "generate", "--checkpoint", "overflowing", "--score", "story.txt", "--quiet",
            says=["story.txt: the loss of token 1 of 72 is", "try an earlier checkpoint", *of])
    refused(program, DIVERGED, "generate", "--checkpoint", "overflowing", "--score", "story.txt", "--prompt", "abc ", "--quiet",
            says=["story.txt behind a context of 4 tokens: the loss of token 1 of 76 is", *of])
    refused(program, DIVERGED, "generate", "--checkpoint", "overflowing", "--prompt", "abc", "--quiet",
            says=["generating: token 0 of the generated text: ", *of])


def test_closed_streams(program):
    """As some daemons start programs: no file of a run or a dataset takes the number of a stream and what is printed."""
    program.write("closed.txt", "It was the best of times.\n" * 400)
    small = config(program, "small.json", max_step=2)

    def start(words, closed):
        code = f"import os, sys; [os.close(n) for n in {closed}]; os.execv(sys.argv[1], sys.argv[1:])"
        return subprocess.run([sys.executable, "-c", code, program.binary, *words], cwd=program.directory,
                              env=program.environment, timeout=60, check=False).returncode

    for closed in ((0,), (2,), (0, 1, 2)):
        name = "closed" + "".join(map(str, closed))
        check(start(["prepare", "closed.txt", "-o", name], closed) == 0, f"prepare without {closed}")
        program.run("inspect", name, "--verify", "--quiet")
        check(start(["train", small, "--run", name + ".run"], closed) == 0, f"train without {closed}")
        with open(program.path(name + ".run", "lock"), encoding="utf-8") as lock:
            check("step" not in lock.read(), f"train without {closed}: printed into its lock")
    check(start(["prepare", "-", "-o", "from-closed"], (0,)) == DATA, "closed standard input is empty")
    check(start(["inspect", "text"], (1,)) == FILE, "a closed standard output takes nothing")


def test_file_limit(program):
    """A limit on the size of files is a full disk, and says so."""
    program.write("long.txt", os.urandom(50000).hex())  # which no compression makes small
    small = config(program, "small.json", max_step=2)
    for words in (["prepare", "long.txt", "-o", "limited.data"], ["train", small, "--run", "limited.run"]):
        process = subprocess.run([program.binary, *words], cwd=program.directory, env=program.environment, capture_output=True,
                                 text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
        check(process.returncode == FILE and "File too large" in process.stderr.splitlines()[-1],
              f"{words}: exit {process.returncode}: {process.stderr}")
    check(not [name for name in os.listdir(program.directory) if name.startswith("limited.data")], "a dataset half written")


def test_full_disk(program):
    """The save of step 4 meets a limit on the size of files; the one of step 2 stays as it was and can be gone on from."""
    small = config(program, "small.json", max_step=2)
    program.run("train", small, "--run", "full")
    limited = config(program, "limited.json")
    process = subprocess.run(
        [program.binary, "train", limited, "--run", "full", "--resume"], cwd=program.directory, env=program.environment,
        capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    check(process.returncode == FILE, f"full disk: exit {process.returncode}, expected {FILE}: {process.stderr}")
    check(sorted(os.listdir(program.path("full", "checkpoints"))) == ["step-00000002"], "full disk: something half written")
    program.run("train", limited, "--run", "full", "--resume")


def main():
    program = Program()
    program.prepare_text("text", 4000, seed=2)
    for test in (test_signal, test_repeated_signal, test_divergence, test_broken_weights, test_closed_streams, test_file_limit,
                 test_full_disk):
        test(program)


main()
