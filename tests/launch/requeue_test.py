"""Whether the script for Slurm queues itself again, by the ends that attempts come to. In place of Slurm and of the program
stand scripts."""

import os
import pathlib
import subprocess
import sys
import tempfile

from program import check

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "launch" / "cluster" / "train.sbatch"
ENOUGH = 12  # attempts, of a job that is queued again for ever
# The next line of `attempts` is what happens: an exit code, and the step that is saved, if any. A save begins always.
SRUN = """#!/bin/bash
read -r code step <attempts
sed -i 1d attempts
mkdir -p run/checkpoints
touch run/config.json run/checkpoints
sleep 0.01
rm -rf run/checkpoints/.step-99999999.partial
mkdir -p run/checkpoints/.step-99999999.partial
touch run/checkpoints/.step-99999999.partial/manifest.json
if [[ -n $step ]]; then
  mkdir -p run/checkpoints/step-$step && touch run/checkpoints/step-$step/manifest.json
fi
exit "$code"
"""
SCONTROL = """#!/bin/bash
echo "$*" >>requeued
"""


class Cluster:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
            self.path(name).write_text(text)
            self.path(name).chmod(0o755)

    def path(self, name):
        return self.directory / name

    def attempt(self, job):
        """One start of the job: whether it was queued again, its exit code, and what it said."""
        self.path("requeued").unlink(missing_ok=True)
        environment = dict(os.environ, PATH=f"{self.directory}:{os.environ['PATH']}", SLURM_JOB_ID=job, SEGUE_LAUNCHER="srun")
        done = subprocess.run([SCRIPT, "config.json", "run"], cwd=self.directory, env=environment, capture_output=True, text=True,
                              timeout=20)
        queued = self.path("requeued").exists()
        check(not queued or self.path("requeued").read_text() == f"requeue {job}\n", "another job was queued again")
        return queued, done.returncode, done.stderr

    def run(self, attempts, job="7"):
        """The job, started anew as long as it is queued again: how often it started, and its last exit code and words."""
        self.path("attempts").write_text("\n".join([*attempts, *[attempts[-1]] * ENOUGH]) + "\n")
        for started in range(1, ENOUGH):
            queued, code, said = self.attempt(job)
            if not queued:
                break
        return started, code, said

    def leaves_nothing(self):
        return not list(self.directory.glob("run.*"))


def test_saves_that_fail_end_the_job(cluster):
    started, code, said = cluster.run(["137"])
    check((started, code) == (4, 137), f"{started} starts, exit {code}: {said}")
    check("exit code 137, nothing saved beyond step 0 (4 in a row): not queued again" in said, said)
    check(cluster.leaves_nothing(), "a count is left")


def test_what_was_saved_counts(cluster):
    started, code, said = cluster.run(["137 00000100", "137", "75", "8 00000200", "137", "137", "143", "138"])
    check((started, code) == (8, 138) and "beyond step 200 (4 in a row)" in said, f"{started} starts, exit {code}: {said}")


def test_the_same_step_again_is_no_progress(cluster):
    started, _, said = cluster.run(["137 00000200"])
    check(started == 4 and "beyond step 200" in said, f"{started} starts: {said}")


def test_another_job_begins_to_count_anew(cluster):
    cluster.path("run.requeued").write_text("6 3\n")
    queued, _, said = cluster.attempt("7")
    check(queued and "(1 in a row): queued again" in said, said)


def test_an_end_is_an_end(cluster):
    for code in (0, 3, 10):
        started, found, said = cluster.run([str(code)])
        check((started, found) == (1, code) and cluster.leaves_nothing(), f"{started} starts, exit {found}: {said}")


def main():
    with tempfile.TemporaryDirectory(prefix="segue-requeue-") as directory:
        cluster = Cluster(directory)
        test_saves_that_fail_end_the_job(cluster)
        test_what_was_saved_counts(cluster)
        test_the_same_step_again_is_no_progress(cluster)
        test_another_job_begins_to_count_anew(cluster)
        test_an_end_is_an_end(cluster)


if __name__ == "__main__":
    sys.exit(main())
