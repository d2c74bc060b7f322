"""Ranks on two hosts, and the link between them cut while they train: the job ends in time and names the rank that is
missing, and goes on later to the end it would have had; and until then sends as many bytes as the dry run says. The hosts
are network namespaces; skipped where they are not permitted."""

import glob
import os
import re
import socket
import subprocess
import sys
import time

from hosts import Hosts, enter
from job import SKIPPED, Job, newest_step, require, wait_for_steps
from program import TINY_MODEL, check, check_same_run, cpu_flags

TIMEOUT_S = 20  # that ranks wait for one another, unless told otherwise
ENDS_WITHIN_S = 40
UNITS = {"KiB": 2**10, "MiB": 2**20}


class TwoHosts(Job):
    """Two ranks on the first host, where this process is, and one on the second."""

    def __init__(self):
        super().__init__()
        self.hosts = Hosts(["first", "second"], self.directory, slots=2)
        self.environment.update(self.hosts.environment(self.directory))
        self.launcher = self.hosts.launcher()

    def set_link(self, state):
        self.hosts.hosts[0].run(f"ip link set link0 {state}")

    def second_answers(self):
        try:
            socket.create_connection((self.hosts.address(1), 9), timeout=1).close()
        except ConnectionRefusedError:  # nobody listens there, and that is an answer
            return True
        except OSError:
            return False
        return True

    def start_to_file(self, name):
        """Its output goes to a file: a pipe would stay open in what mpirun leaves on the other host."""
        with open(self.path("said"), "w") as said:
            return subprocess.Popen([*self.launcher, "-np", "3", self.binary, "train", "config.json", "--run", name,
                                     "--quiet"], cwd=self.directory, env=self.environment, stdout=said, stderr=said)

    def lines(self):
        with open(self.path("said")) as said:
            return [line for line in said.read().splitlines() if line.startswith("segue:")]


def wait_for_the_second_host(job):
    """Until it is reached, and nothing of the job is left there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        listed = subprocess.run(["ps", "-C", "orted", "-o", "stat="], capture_output=True, text=True).stdout.split()
        if all(state.startswith("Z") for state in listed) and job.second_answers():
            return
        time.sleep(0.1)
    sys.exit("failed: the second host goes on with a job that has ended")


def test_ranks_are_on_both_hosts(job):
    done = subprocess.run([*job.launcher, "-np", "3", "hostname"], env=job.environment, capture_output=True, text=True, timeout=60)
    check(sorted(done.stdout.split()) == ["first", "first", "second"], f"hosts: {done.stdout}{done.stderr}")


def wait_for_a_checkpoint(job, process, run):
    """What the job goes on from."""
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if glob.glob(os.path.join(job.path(run), "checkpoints", "step-*")):
            return
        time.sleep(0.1)
    sys.exit("failed: no checkpoint has come before the run has ended, or in a minute")


def test_a_cut_link_ends_the_job(job):
    process = job.start_to_file("cut")
    wait_for_steps(job, "cut")
    wait_for_a_checkpoint(job, process, "cut")
    check(process.poll() is None, "the run ended before the link was cut")
    job.set_link("down")
    began = time.monotonic()
    process.wait(timeout=120)
    seconds = time.monotonic() - began
    lines = job.lines()
    print(f"ended {seconds:.1f} s after the cut, exit {process.returncode}: {lines}")
    check(process.returncode != 0 and seconds < ENDS_WITHIN_S, f"exit {process.returncode} after {seconds:.1f} s")
    check(len(lines) == 1 and "step " in lines[0] and f"rank 2 on second did not come within {TIMEOUT_S} s" in lines[0],
          f"expected one line that names the rank: {lines}")


def test_it_goes_on_as_if_nothing_had_happened(job):
    job.set_link("up")
    wait_for_the_second_host(job)
    steps = newest_step(job.path("cut")) + 50
    job.train(3, "cut", "--resume", "--set", f"training.max_step={steps}")
    check_same_run(job.train(3, "whole", "--set", f"training.max_step={steps}"), job.path("cut"), steps, "cut and resumed")


def check_sent(job, name, *options):
    """The difference of two runs is free of what starts and ends them."""
    sent = []
    for steps in (5, 25):
        before = job.hosts.sent_bytes()
        job.run_ranks(3, "train", "large.json", "--run", f"{name}{steps}", "--quiet", "--set", f"training.max_step={steps}",
                      *options)
        sent.append([after - at_first for after, at_first in zip(job.hosts.sent_bytes(), before)])
    planned, _ = job.run_ranks(3, "train", "large.json", "--dry-run", *options)
    number, unit = re.search(r"Each rank sends (\S+) (\S+) a step", planned).groups()
    predicted = float(number) * UNITS[unit]
    for host, (few, many) in enumerate(zip(*sent)):
        found = (many - few) / 20
        print(f"{name}: host {host} sends {found:.0f} bytes a step, {found / predicted:.3f} of what is predicted")
        check(0.98 < found / predicted < 1.08, f"{name}: host {host}: {found} bytes a step, predicted {predicted}")


def test_a_host_sends_what_the_dry_run_says(job):
    """However many ranks it has: they are neighbours in the ring."""
    job.write_config("large.json", model={**TINY_MODEL, "d_inner": 8000}, training={"log_interval": 1000, "max_step": 1},
                     evaluation={"interval": 0})
    check_sent(job, "whole")
    precision = "bf16" if "avx512_bf16" in cpu_flags() else "fp32"
    check_sent(job, "sharded", "--set", "optimizer.shard=true", "--set", f"training.precision={precision}")


def run_tests():
    job = TwoHosts()
    try:
        job.prepare_text("text", 20000, 1)
        job.write_config(training={"max_step": 1000000}, evaluation={"interval": 20, "batch_size": 4},
                         checkpoint={"interval": 20})
        test_ranks_are_on_both_hosts(job)
        test_a_host_sends_what_the_dry_run_says(job)
        test_a_cut_link_ends_the_job(job)
        test_it_goes_on_as_if_nothing_had_happened(job)
    finally:
        job.hosts.close()


def main():
    require("mpirun", "unshare", "nsenter", "ip")
    try:
        code = enter()
    except PermissionError as error:
        print(f"skipped, namespaces are not permitted here: {error}")
        return SKIPPED
    if code is None:
        run_tests()
    return code


if __name__ == "__main__":
    sys.exit(main())
