"""The script for Slurm, under a Slurm of one node: a run that is preempted, queued again, robbed of a rank and warned of
its time limit comes to the end that it has undisturbed. Skipped where Slurm is not installed or may not run.

The second argument is where launch/install_packages has put another Open MPI, under whose mpirun a run is preempted and
robbed of a rank too, if it is there."""

import glob
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from job import SKIPPED, Job, require, wait_for_steps
from one_node_slurm import PROGRAMS, OneNodeSlurm
from program import check, check_same_run

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "launch" / "cluster" / "train.sbatch"
ENDLESS = 10000000  # steps
UNDISTURBED_S = 1200  # for the steps that were made before a time limit came: half a minute on a machine that does nothing else


class Training:
    """A run of two ranks that the script trains."""

    def __init__(self, slurm, job, run):
        self.slurm, self.job, self.run = slurm, job, run
        self.started = time.time()
        self.config(ENDLESS)
        self.id = slurm.submit("--ntasks=2", "--time=60", f"--output={run}.log", SCRIPT, f"{run}.json", run, "--quiet",
                               cwd=job.directory)

    def config(self, steps):
        self.job.write_config(f"{self.run}.json", training={"max_step": steps, "peer_timeout": 3},
                              evaluation={"interval": 500, "batch_size": 4}, checkpoint={"interval": 100})

    def log(self):
        with open(self.job.path(f"{self.run}.log")) as file:
            return file.read()

    def saves(self):
        return self.log().count("stopped and saved")

    def newest_step(self):
        saved = glob.glob(self.job.path(self.run, "checkpoints", "step-????????"))
        return max((int(name[-8:]) for name in saved), default=0)

    def wait_for(self, what, condition, seconds=90):
        end = time.monotonic() + seconds
        while not condition(*self.slurm.state_of(self.id)):
            check(time.monotonic() < end, f"{what}: job is {self.slurm.state_of(self.id)}\n{self.log()}")
            time.sleep(0.1)

    def interrupt(self, what, disturb, saves):
        """Once the job has saved a checkpoint, disturbs it, and waits until it is queued again."""
        wait_for_steps(self.job, self.run, self.started)
        since = self.newest_step()
        self.wait_for(what, lambda *_: self.newest_step() > since)
        _, restarts = self.slurm.state_of(self.id)
        saved, began = self.saves(), time.monotonic()
        disturb()
        self.wait_for(what, lambda state, now: now > restarts and state == "PENDING")
        check((self.saves() > saved) == saves, f"{what}: expected {'a' if saves else 'no'} save\n{self.log()}")
        print(f"{self.run}, {what}: queued again after {time.monotonic() - began:.1f} s, at step {self.newest_step()}",
              flush=True)
        self.started = time.time()

    def end(self):
        """Once it has made a few steps more."""
        steps = self.newest_step() + 50
        self.config(steps)
        self.wait_for("the end", lambda state, _: state in ("COMPLETED", "FAILED", "CANCELLED"))
        check(self.slurm.state_of(self.id)[0] == "COMPLETED", self.log())
        return steps

    def compare(self, steps):
        undisturbed = self.job.start_ranks(2, "train", f"{self.run}.json", "--run", "undisturbed", "--quiet")
        said = "".join(undisturbed.communicate(timeout=UNDISTURBED_S))
        check(undisturbed.returncode == 0, f"undisturbed: exit {undisturbed.returncode}\n{said}")
        check_same_run(self.job.path("undisturbed"), self.job.path(self.run), steps, f"{self.run}, interrupted")
        shutil.rmtree(self.job.path("undisturbed"))


def test_a_run_comes_to_its_end(slurm, job, run, launcher_alone, compares=True):
    """`launcher_alone`: without what the script does alike under every launcher. `compares`: with a run undisturbed."""
    training = Training(slurm, job, run)

    def preempt():
        slurm.submit("--partition=urgent", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 1", cwd=job.directory)

    def requeue():
        slurm.ask("scontrol", "requeue", training.id)

    def kill_a_rank():
        os.kill(slurm.processes_of(training.id, "segue")[-1], signal.SIGKILL)

    def let_time_run_out():
        slurm.ask("scontrol", "update", f"JobId={training.id}", "TimeLimit=1")

    training.interrupt("preempted", preempt, saves=True)
    training.interrupt("robbed of a rank", kill_a_rank, saves=False)
    if not launcher_alone:
        training.interrupt("requeued", requeue, saves=True)
        training.interrupt("warned of its time limit", let_time_run_out, saves=True)
        slurm.ask("scontrol", "update", f"JobId={training.id}", "TimeLimit=60")
    steps = training.end()
    if compares:
        training.compare(steps)


def test_asked_to_end_it_saves_and_is_not_queued_again(slurm, job):
    training = Training(slurm, job, "ended")
    wait_for_steps(job, "ended", training.started)
    slurm.ask("scancel", "--batch", "--signal=TERM", training.id)
    training.wait_for("asked to end", lambda state, _: state == "FAILED")
    check("ExitCode=75:0" in slurm.ask("scontrol", "show", "job", training.id) and training.saves(), training.log())


def test_an_error_is_not_queued_again(slurm, job):
    failed = slurm.submit("--output=error.log", SCRIPT, "none.json", "error", cwd=job.directory)
    while slurm.state_of(failed)[0] in ("PENDING", "RUNNING", "COMPLETING"):
        time.sleep(0.1)
    check(slurm.state_of(failed) == ("FAILED", 0), f"job is {slurm.state_of(failed)}")


def test_another_open_mpi(directory, job, home):
    if not (home / "bin" / "mpirun").exists():
        return print(f"without another Open MPI, of which none is in {os.path.relpath(home)}")
    environment = {name: value for name, value in job.environment.items() if not name.startswith("OMPI_MCA_")}
    environment.update(SEGUE_LAUNCHER="mpirun", PATH=f"{home / 'bin'}:{environment['PATH']}", LD_LIBRARY_PATH=str(home / "lib"),
                       PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    os.mkdir(os.path.join(directory, "other"))
    with OneNodeSlurm(os.path.join(directory, "other"), environment) as slurm:
        test_a_run_comes_to_its_end(slurm, job, "other", launcher_alone=True, compares=False)


def run_tests(directory):
    job = Job()
    job.prepare_text("text", 20000, 1)
    job.environment["SEGUE"] = job.binary
    for launcher in ("srun", "mpirun"):
        os.mkdir(os.path.join(directory, launcher))
        with OneNodeSlurm(os.path.join(directory, launcher), dict(job.environment, SEGUE_LAUNCHER=launcher)) as slurm:
            test_a_run_comes_to_its_end(slurm, job, launcher, launcher_alone=launcher == "mpirun")
            test_asked_to_end_it_saves_and_is_not_queued_again(slurm, job)
            if launcher == "srun":
                test_an_error_is_not_queued_again(slurm, job)
        shutil.rmtree(job.path("ended"))
    test_another_open_mpi(directory, job, pathlib.Path(sys.argv[2]).resolve())


def main():
    require("mpirun", *PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="segue-slurm-") as directory:
        os.chmod(directory, 0o755)
        try:
            run_tests(directory)
        except TimeoutError as error:
            print(f"skipped, Slurm does not run here: {error}")
            return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
