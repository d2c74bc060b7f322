"""A rank that is alive and does not get on: the job says whom it waits for, and ends with its name; one that is slow is
waited for. The file system that stalls is a library, given as the second argument."""

import os
import subprocess
import sys
import time

from job import Job, require
from program import check, final_tensors

TIMEOUT_S = 3  # the machine may be busy
STALL_S = 6


def start(job, run, *stalls):
    """Two ranks, each with the path that stalls for it, or none, and the seconds."""
    command = ["mpirun"]
    for path, seconds in stalls:
        command += ["-np", "1"]
        if path:
            command += ["-x", f"LD_PRELOAD={os.path.abspath(sys.argv[2])}", "-x", f"STALLED_PATH={path}", "-x",
                        f"STALL_SECONDS={seconds}"]
        command += [job.binary, "train", "config.json", "--quiet", "--run", run, ":"]
    return subprocess.Popen(command[:-1], cwd=job.directory, env=job.environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def check_ends(job, run, culprit, stalls, path):
    began = time.monotonic()
    process = start(job, run, *stalls)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"failed: {run}: the job hangs")
    check(process.returncode == 8, f"{run}: exit {process.returncode}, expected 8: {errors}")
    lines = [line for line in errors.splitlines() if line.startswith("segue:")]
    check(len(lines) == 1, f"{run}: expected one line: {errors}")
    for word in (f"no progress for {STALL_S} s: rank {culprit} on ", ", syncing ", path):
        check(word in lines[0], f"{run}: expected {word!r} in: {lines[0]}")
    told = [line for line in errors.splitlines() if "the job has waited" in line and f"rank {culprit} on " in line]
    check(told and path in told[0] and "last progress" in told[0], f"{run}: the log does not say: {errors}")
    check(time.monotonic() - began < 45, f"{run}: took {time.monotonic() - began:.0f} s")
    check(not os.path.exists(job.path(run, "checkpoints", "step-00000002")), f"{run}: published a checkpoint")


def test_a_stalled_file_system_ends_the_job(job):
    check_ends(job, "second", 1, [("", 0), ("memory-", 1000)], "memory-")
    check_ends(job, "first", 0, [("weights.safetensors", 1000), ("", 0)], "weights.safetensors")


def test_a_slow_file_system_is_waited_for(job):
    """Each of two syncs takes longer than ranks wait for one another, both together longer than a stall."""
    process = start(job, "slow", ("", 0), ("step-", 3.5))
    _, errors = process.communicate(timeout=100)
    check(process.returncode == 0, f"exit {process.returncode}: {errors}")
    final_tensors(job.path("slow"), 2)


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 4000, 1)
    job.write_config(training={"batch_size": 2, "max_step": 2, "peer_timeout": TIMEOUT_S, "stall_timeout": STALL_S},
                     evaluation={"interval": 0})
    test_a_stalled_file_system_ends_the_job(job)
    test_a_slow_file_system_is_waited_for(job)


main()
