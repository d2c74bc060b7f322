"""One start of the program in a campaign of launch/checks/chaos, and what can be seen of it from outside."""

import mmap
import os
import pathlib
import signal
import struct
import subprocess
import time

HANG_S = 150  # without an end or a step that is due
ORDER = struct.Struct("iiiii")  # harmed_disk.c: write error, sync error, write delay, sync delay, process


class Finding(Exception):
    """Something was lost, or hangs, or ends as it should not."""


def numbered(directory):
    """The steps that have a checkpoint: also one that is set aside for a moment."""
    steps = [0]
    for name in os.listdir(directory) if directory.is_dir() else []:
        word = name.removeprefix(".").removesuffix(".replaced")
        if word.startswith("step-") and word[5:].isdigit():
            steps.append(int(word[5:]))
    return steps


class Page:
    """The orders to the harmed disk of a campaign's processes."""

    def __init__(self, path):
        path.write_bytes(bytes(ORDER.size))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), ORDER.size)
        self.path = path

    def order(self, *, write_error=0, sync_error=0, write_delay_ms=0, sync_delay_ms=0, process=0):
        self.memory[:] = ORDER.pack(write_error, sync_error, write_delay_ms, sync_delay_ms, process)


class Attempt:
    """A process or a job that trains, and its run."""

    def __init__(self, campaign):
        workshop, run, page = campaign.workshop, campaign.run_directory, campaign.page
        self.run, self.ranks, self.errors = run, campaign.ranks, campaign.errors
        self.checkpoints = run / "checkpoints"
        self.before = max(numbered(self.checkpoints))
        self.began = time.time()
        environment = dict(workshop.environment)
        if workshop.shim:
            environment.update(LD_PRELOAD=str(workshop.shim), CHAOS_PAGE=str(page.path), CHAOS_DIRECTORY=str(run))
        command = workshop.command(self.ranks, "train", campaign.config, "--run", run, "--resume")
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors,
                                            start_new_session=True)
        self.known_ranks = set()

    def pids(self):
        """The ranks that there are."""
        if self.ranks == 1:
            return [self.process.pid] if self.running() else []
        try:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return []
        self.known_ranks.update(map(int, children))
        return [int(child) for child in children]

    def running(self):
        return self.process.poll() is None

    def step(self):
        """The last of metrics.jsonl that this attempt may have written; 0 while there is none."""
        try:
            with open(self.run / "metrics.jsonl", "rb") as file:
                if os.fstat(file.fileno()).st_mtime < self.began:
                    return 0
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 2000))
                lines = file.read().splitlines()
            return int(lines[-2].split(b'"step":')[1].split(b",")[0])
        except (OSError, IndexError, ValueError):
            return 0

    def saving(self):
        try:
            return any(name.startswith(".step-") and name.endswith(".partial") for name in os.listdir(self.checkpoints))
        except OSError:
            return False

    def wait_until(self, condition, what, limit=HANG_S, pause=0.001):
        """False when the attempt ended before."""
        end = time.monotonic() + limit
        while self.running():
            if condition():
                return True
            if time.monotonic() > end:
                raise Finding(f"hangs: {what} did not come in {limit} s")
            time.sleep(pause)
        return False

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def wait_for_end(self, what):
        self.pids()
        try:
            code = self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            raise Finding(f"hangs: no end in {HANG_S} s after {what}") from None
        end = time.monotonic() + HANG_S
        while any(os.path.exists(f"/proc/{pid}") for pid in self.known_ranks):
            if time.monotonic() > end:
                raise Finding(f"ranks go on {HANG_S} s after the end of mpirun, after {what}")
            time.sleep(0.005)
        return code

    def kill_all(self):
        """Whatever is left of it."""
        for pid in self.pids():
            self.signal(pid, signal.SIGKILL)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def lines(self):
        return self.errors.read_text(errors="replace").splitlines()
