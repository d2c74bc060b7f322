"""Ranks under another mpirun than the one the program was built for: the same run to the bit, and a stop with a save.

The second argument is where launch/install_packages has put that Open MPI.
"""

import os
import pathlib
import signal
import sys

from job import SKIPPED, Job, newest_step, require, wait_for_steps
from program import check, check_same_run

STEPS = 12
SAVED = 75  # as an exit code


class OtherJob(Job):
    """Runs the program under the other mpirun, with its library."""

    def __init__(self, home):
        super().__init__()
        self.launcher = [str(home / "bin" / "mpirun"), "--oversubscribe"]
        self.environment["LD_LIBRARY_PATH"] = str(home / "lib")
        for name in [name for name in self.environment if name.startswith("OMPI_MCA_")]:
            del self.environment[name]
        self.environment["PRTE_ALLOW_RUN_AS_ROOT"] = self.environment["PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"


def make(job):
    job.prepare_text("text", 20000, 1)
    job.write_config(training={"max_step": STEPS})
    return job


def test_the_same_run_to_the_bit(here, other):
    check_same_run(other.train(2, "run"), here.train(2, "run"), STEPS, "the mpirun of the build and the other")


def test_a_signal_to_mpirun_saves(other):
    process = other.start_ranks(2, "train", "config.json", "--run", "long", "--set", "training.max_step=1000000")
    try:
        wait_for_steps(other, "long")
        process.send_signal(signal.SIGUSR1)
        _, said = process.communicate(timeout=120)  # a save takes a moment: longer, and the signal was lost
    finally:
        process.terminate()  # after which it kills the ranks of a job that goes on
    check(process.returncode == SAVED and newest_step(other.path("long")) > 0, f"exit {process.returncode}\n{said}")
    check(f"to save and stop: kill -USR1 {process.pid}\n" in said, f"its log does not say how to stop:\n{said}")


def main():
    require("mpirun")
    home = pathlib.Path(sys.argv[2]).resolve()
    if not (home / "bin" / "mpirun").exists():
        print(f"skipped, no other Open MPI in {os.path.relpath(home)}")
        sys.exit(SKIPPED)
    here, other = make(Job()), make(OtherJob(home))
    test_the_same_run_to_the_bit(here, other)
    test_a_signal_to_mpirun_saves(other)


main()
