"""The program as several ranks."""

import os
import shutil
import subprocess
import sys
import time

from program import TINY_MODEL, Program, check, metrics

SKIPPED = 77  # as an exit code


class Job(Program):
    """Runs the program under mpirun."""

    def __init__(self):
        super().__init__()
        self.launcher = ["mpirun"]
        self.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    def start_ranks(self, ranks, *arguments):
        command = [*self.launcher, "-np", str(ranks), self.binary, *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.directory, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run_ranks(self, ranks, *arguments, expect=0):
        process = self.start_ranks(ranks, *arguments)
        output, errors = process.communicate(timeout=300)
        check(process.returncode == expect,
              f"{ranks} ranks of {' '.join(map(str, arguments))}: exit {process.returncode}, expected {expect}\n"
              f"{output}{errors}")
        return output, errors

    def write_config(self, name="config.json", *, training, **groups):
        """A small model that trains on the dataset `text` and says how each step went."""
        training = {"batch_size": 5, "tgt_len": 16, "log_interval": 1, "threads": 1, **training}
        defaults = {"data": {"path": "text"}, "model": TINY_MODEL, "schedule": {"kind": "constant"}}
        return self.config(name, training=training, **{**defaults, **groups})

    def train(self, ranks, run, *more):
        self.run_ranks(ranks, "train", "config.json", "--run", run, "--quiet", *more)
        return self.path(run)


def require(*programs):
    """Ends the test as skipped where one of them is not installed."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        print("skipped, not installed: " + ", ".join(missing))
        sys.exit(SKIPPED)


def losses(run):
    return [line["loss"] for line in metrics(run) if "evaluation" not in line]


def check_close(found, expected, limit, what):
    """Lists of losses; `limit` is relative."""
    differences = [abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True)]
    check(all(each <= limit for each in differences), f"{what}: losses differ by {differences}")


def wait_for_steps(job, run, since=0.0):
    """Until the run trains, after the time `since`: before, ranks are being started, which has no time-out of ours."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        path = job.path(run, "metrics.jsonl")
        if os.path.exists(path) and os.path.getmtime(path) > since and os.path.getsize(path) > 0:
            return
        time.sleep(0.02)
    sys.exit("failed: the job did not begin to train")


def half_written(checkpoints):
    """Whether a save is under way, or was when its process ended."""
    return os.path.isdir(checkpoints) and any(name.endswith(".partial") for name in os.listdir(checkpoints))


def wait_for_a_save(process, checkpoints):
    while process.poll() is None and not half_written(checkpoints):
        pass


def newest_step(run):
    """0 without a checkpoint."""
    checkpoints = os.path.join(run, "checkpoints")
    names = os.listdir(checkpoints) if os.path.isdir(checkpoints) else []
    return max((int(name[len("step-"):]) for name in names if name.startswith("step-") and name[5:].isdigit()), default=0)
