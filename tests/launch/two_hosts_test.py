"""Ranks on two hosts, and the link between them cut while they train: the job ends in time and names the rank that is
missing, and goes on later to the end it would have had. The hosts are two network namespaces with names of their own.
Skipped where such namespaces are not permitted."""

import os
import pathlib
import socket
import subprocess
import sys
import time

from job import SKIPPED, Job, newest_step, require, wait_for_steps
from program import check, check_same_run

SETTINGS = str(pathlib.Path(__file__).resolve().parents[2] / "launch" / "hosts.conf")
TIMEOUT_S = 20  # that ranks wait for one another, unless told otherwise
INSIDE = "SEGUE_TEST_INSIDE_NAMESPACES"
NAMESPACES = ["--net", "--uts"]
ENDS_WITHIN_S = 40
AGENT = """#!/bin/sh
# In place of ssh: HOST COMMAND...
shift
exec nsenter --target {second} --net --uts -- sh -c "$*"
"""


def run(command):
    subprocess.run(command, shell=True, check=True)


class TwoHosts(Job):
    """This process is on the first host; the second lives as long as a process that holds it."""

    def __init__(self):
        super().__init__()
        run("hostname first && ip link set lo up")
        self.second = subprocess.Popen(["unshare", *NAMESPACES, "sh", "-c", "hostname second; echo; exec sleep 900"],
                                       stdout=subprocess.PIPE)
        self.second.stdout.readline()
        run(f"ip link add here type veth peer name there netns {self.second.pid}")
        run("ip address add 10.77.0.1/24 dev here && ip link set here up")
        run(f"nsenter --target {self.second.pid} --net sh -c "
            "'ip link set lo up && ip address add 10.77.0.2/24 dev there && ip link set there up'")
        os.chmod(self.write("agent", AGENT.format(second=self.second.pid)), 0o755)
        self.write("hosts", "10.77.0.1 slots=2\n10.77.0.2 slots=1\n")
        self.environment.update(OMPI_MCA_plm_rsh_agent=self.path("agent"), OMPI_MCA_orte_tmpdir_base=self.directory,
                                OMPI_MCA_oob_tcp_if_include="10.77.0.0/24", OMPI_MCA_btl_tcp_if_include="10.77.0.0/24")
        self.launcher = ["mpirun", "--tune", SETTINGS, "--hostfile", self.path("hosts")]

    def set_link(self, state):
        run(f"ip link set here {state}")

    def second_answers(self):
        try:
            socket.create_connection(("10.77.0.2", 9), timeout=1).close()
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


def test_a_cut_link_ends_the_job(job):
    process = job.start_to_file("cut")
    wait_for_steps(job, "cut")
    time.sleep(1)
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


def run_tests():
    job = TwoHosts()
    try:
        job.prepare_text("text", 20000, 1)
        job.write_config(training={"max_step": 1000000}, evaluation={"interval": 20, "batch_size": 4},
                         checkpoint={"interval": 20})
        test_ranks_are_on_both_hosts(job)
        test_a_cut_link_ends_the_job(job)
        test_it_goes_on_as_if_nothing_had_happened(job)
    finally:
        job.second.kill()


def main():
    if os.environ.get(INSIDE):
        return run_tests()
    require("mpirun", "unshare", "nsenter", "ip")
    # Processes have a namespace too: whatever a failure leaves behind ends with it.
    enter = ["unshare", "--map-root-user", *NAMESPACES, "--pid", "--fork", "--mount-proc", "--kill-child"]
    attempt = subprocess.run([*enter, "ip", "link", "add", "here", "type", "veth"], capture_output=True, text=True)
    if attempt.returncode != 0:
        print(f"skipped, namespaces are not permitted here: {attempt.stderr.strip()}")
        return SKIPPED
    return subprocess.run([*enter, sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
