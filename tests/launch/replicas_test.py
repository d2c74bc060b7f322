"""Ranks that see the run directory or the program differently: they train the same weights, or do not train. Views differ
by bind mounts, where the rights for mount namespaces are there."""

import os
import shutil
import subprocess
import sys

from job import SKIPPED, Job, require
from program import TINY_MODEL, check


def can_mount():
    return subprocess.run(["unshare", "-m", "mount", "--bind", "/tmp", "/tmp"], capture_output=True).returncode == 0


def run_with_views(job, arguments, view, expect):
    """Two ranks; `view` is a directory and what the second sees in its place."""
    command = [job.binary, "train", *map(str, arguments)]
    seen = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", *view, *command]
    done = subprocess.run(["mpirun", "-np", "1", *command, ":", "-np", "1", *seen], cwd=job.directory,
                          env=job.environment, capture_output=True, text=True, timeout=100)
    check(done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stderr}")
    return done.stderr


def check_refused(job, arguments, view, says):
    errors = run_with_views(job, arguments, view, 5)
    lines = [line for line in errors.splitlines() if line.startswith("segue:")]
    check(len(lines) == 1 and all(word in lines[0] for word in says), f"expected one line with {says}: {errors}")


def test_other_weights_are_refused(job):
    """Both checkpoints are intact, and of the same step."""
    job.run("train", "config.json", "--run", "origin", "--quiet")
    job.run("train", "config.json", "--run", "other", "--quiet", "--set", "seed=7")
    check_refused(job, ("config.json", "--run", "started", "--quiet", "--set", "training.init_from=origin"),
                  (job.path("other"), job.path("origin")),
                  ("rank 1 on ", "expected step 20 with manifest xxh3:", ", found step 20 with manifest xxh3:"))
    check(not os.path.exists(job.path("started", "checkpoints")), "something was written")


def test_an_older_listing_is_refused(job):
    """The second rank sees the run as it was at step 10."""
    job.run("train", "config.json", "--run", "run", "--quiet", "--set", "training.max_step=10")
    shutil.copytree(job.path("run"), job.path("old"), symlinks=True)
    job.run("train", "--run", "run", "--resume", "--quiet", "--set", "training.max_step=20")
    check_refused(job, ("--run", "run", "--resume", "--quiet", "--set", "training.max_step=30"),
                  (job.path("old"), job.path("run")),
                  ("rank 1 on ", "expected step 20 with manifest xxh3:", "step-00000020/manifest.json: missing"))


def test_the_first_rank_chooses(job):
    """It sees no step 20, and the second trains from its step 10 with it."""
    shutil.copytree(job.path("run"), job.path("newer"), symlinks=True)
    shutil.rmtree(job.path("run", "checkpoints", "step-00000020"))
    errors = run_with_views(job, ("--run", "run", "--resume", "--set", "training.max_step=10"),
                            (job.path("newer"), job.path("run")), 0)
    check("resumed from" in errors and "at step 10" in errors, errors)


def test_another_build_is_refused(job):
    other = job.path("other-build")
    shutil.copy(job.binary, other)
    with open(other, "ab") as file:
        file.write(b"\n")
    train = ["train", "config.json", "--run", "builds", "--quiet"]
    done = subprocess.run(["mpirun", "-np", "1", job.binary, *train, ":", "-np", "1", other, *train], cwd=job.directory,
                          env=job.environment, capture_output=True, text=True, timeout=60)
    check(done.returncode == 3 and "rank 1 on " in done.stderr and "runs another build" in done.stderr, done.stderr)


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 4000, 1)
    job.write_config(training={"batch_size": 2, "max_step": 20}, evaluation={"interval": 0}, checkpoint={"interval": 10},
                     model=TINY_MODEL)
    test_another_build_is_refused(job)
    if not can_mount():
        print("skipped: no rights for mount namespaces")
        sys.exit(SKIPPED)
    test_other_weights_are_refused(job)
    test_an_older_listing_is_refused(job)
    test_the_first_rank_chooses(job)


main()
