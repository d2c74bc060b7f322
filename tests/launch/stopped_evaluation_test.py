"""Evaluations inside a run: one that is stopped by a signal is made when the run goes on, which then is the run that never
stopped, to the bit; and ranks wait for the one that has more to evaluate, or for all when they have nothing."""

import os
import random
import signal
import sys
import time

from job import Job, check_close, require
from program import TINY_MODEL, check, check_same_run, final_tensors, is_exact_by_row, metrics, read_evaluation

STEPS = 8
INTERVAL = 4  # of evaluations
VALID_BYTES = 200_000  # a second of evaluation


def evaluations(run):
    return {line["step"]: line["loss"] for line in metrics(run) if "evaluation" in line}


def file_number(path):
    return os.stat(path).st_ino if os.path.exists(path) else None


def wait_for_evaluation(job, process, run, step, file_before):
    """Until the line of the step before it is in the log, which a run that goes on writes anew."""
    path = job.path(run, "metrics.jsonl")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if file_number(path) not in (None, file_before) and any(line["step"] == step for line in metrics(job.path(run))):
            return time.sleep(0.2)
        check(process.poll() is None, f"{run}: ended before step {step}")
        time.sleep(0.01)
    sys.exit(f"failed: {run} did not come to step {step}")


def rank_processes(job, run):
    """Process ids of the program that trains this run."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline") as file:
                arguments = file.read().split("\0")
        except OSError:
            continue
        if arguments[0] == job.binary and run in arguments:
            found.append(int(name))
    return found


def stop_in_evaluation(job, start, run, step):
    file_before = file_number(job.path(run, "metrics.jsonl"))
    process = start(run)
    wait_for_evaluation(job, process, run, step, file_before)
    check(rank_processes(job, run), f"{run}: ended at step {step}: {process.poll()}")
    os.kill(rank_processes(job, run)[-1], signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    check(process.returncode == 75, f"{run}: exit {process.returncode}, expected 75: {errors}")
    check(step not in evaluations(job.path(run)), f"{run}: the signal waited for the evaluation at step {step}")
    _, state = final_tensors(job.path(run), step)
    check(state["evaluation_pending"], f"{run}: {state}")


def check_stopped_runs(job, what, start, whole):
    """Stopped in every evaluation, in the first one twice."""
    run = f"stopped-{what}"
    for step in (INTERVAL, INTERVAL, STEPS):
        stop_in_evaluation(job, start, run, step)
    # As if it had been killed between the line of the evaluation and its checkpoint.
    with open(job.path(run, "metrics.jsonl"), "a") as file:
        file.write(f'{{"step": {STEPS}, "evaluation": "valid", "loss": 1.0}}\n')
    process = start(run)
    _, errors = process.communicate(timeout=100)
    check(process.returncode == 0, f"{run}: exit {process.returncode}: {errors}")
    check_same_run(whole, job.path(run), STEPS, run)
    best = [os.readlink(os.path.join(each, "checkpoints", "best")) for each in (whole, job.path(run))]
    check(best[0] == best[1], f"{run}: the best is {best[1]}, expected {best[0]}")


def test_alone(job):
    arguments = ("train", "config.json", "--quiet", "--resume", "--set", "evaluation.batch_size=1", "--run")
    job.run(*arguments, "whole")
    whole = job.path("whole")
    check(list(evaluations(whole)) == [INTERVAL, STEPS], f"{evaluations(whole)}")
    check_stopped_runs(job, "alone", lambda run: job.start(*arguments, run), whole)
    return evaluations(whole)


def test_on_two_ranks(job):
    arguments = ("train", "config.json", "--quiet", "--resume", "--set", "evaluation.batch_size=3", "--run")
    job.run_ranks(2, *arguments, "whole2")
    check_stopped_runs(job, "two", lambda run: job.start_ranks(2, *arguments, run), job.path("whole2"))


def test_ranks_with_unequal_shares(job):
    """One rank evaluates for longer than they wait for one another, the other has nothing to evaluate."""
    job.run_ranks(2, "train", "config.json", "--quiet", "--run", "unequal", "--set", "training.peer_timeout=2", "--set",
                  "evaluation.batch_size=1", "--set", "evaluation.tgt_len=36", "--set", "model.d_inner=16000", "--set",
                  f"training.max_step={INTERVAL}")
    check(list(evaluations(job.path("unequal"))) == [INTERVAL], "there was no evaluation")


def test_more_ranks_than_streams(job, expected):
    job.run_ranks(3, "train", "config.json", "--quiet", "--run", "three", "--set", "evaluation.batch_size=1")
    found = evaluations(job.path("three"))
    check(found.keys() == expected.keys(), f"evaluated after steps {list(found)}")
    check_close(list(found.values()), list(expected.values()), 1e-4, "three ranks, one stream to evaluate")
    means, losses = [], []
    for ranks in (1, 3):
        job.run_ranks(ranks, "eval", "--checkpoint", "three", "--data", "text", "--split", "test", "--batch-size", 2, "--quiet",
                      "--threads", 1, "--output", f"result{ranks}", "--force", "--per-token")
        means.append(read_evaluation(job.path(f"result{ranks}"))["results"][0]["loss"])
        with open(job.path(f"result{ranks}", "losses-mem-24.h5"), "rb") as file:
            losses.append(file.read())
    check_close(means[:1], means[1:], 1e-6, "three ranks, two streams")
    check(losses[0] == losses[1] or not is_exact_by_row(), "three ranks, two streams: other losses than one rank's")


def main():
    require("mpirun")
    job = Job()
    source = random.Random(1)
    text = "".join(source.choice("abcde     \n") for _ in range(VALID_BYTES))
    for split, part in (("train", text[:9000]), ("valid", text[:VALID_BYTES]), ("test", text[-2000:])):
        job.write(split + ".txt", part)
    job.run("prepare", "--train", "train.txt", "--valid", "valid.txt", "--test", "test.txt", "--output", "text")
    job.write_config(training={"batch_size": 3, "max_step": STEPS}, optimizer={"lr": 0.05}, schedule={"kind": "plateau"},
                     evaluation={"interval": INTERVAL}, checkpoint={"interval": 3},
                     model={**TINY_MODEL, "dropout": 0.1})
    expected = test_alone(job)
    test_on_two_ranks(job)
    test_ranks_with_unequal_shares(job)
    test_more_ranks_than_streams(job, expected)


main()
