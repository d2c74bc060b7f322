"""What the comparisons with PyTorch share: parts run one after the other, each watched, on a machine that should be
quiet."""

import argparse
import datetime
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
PROGRAM = pathlib.Path(sys.argv[0]).name
QUIET = 0.05  # share of the processors that others may use
PATIENCE = 60  # looks, a second each, until they do


def busy_share(seconds: float = 1.0) -> float:
    """The share of all processors' time that is in use now, by whomever."""

    def ticks() -> tuple[int, int]:
        values = [int(value) for value in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(values), values[3] + values[4]  # all; idle and waiting for disks

    total, idle = ticks()
    time.sleep(seconds)
    later_total, later_idle = ticks()
    return 1 - (later_idle - idle) / (later_total - total)


def without_folders(word: str) -> str:
    """Absolute paths by their last part: results are published, and where things lie on a machine is not part of them."""
    return re.sub(r"(^|=)/\S*/", r"\1", word)


class PartFailed(SystemExit):
    """Ends the program, unless it can do without the part."""


class Bench:
    """Runs the parts of the comparison one after the other and keeps what was run and how quiet it was before."""

    def __init__(self, busy_ok: bool):
        self.busy_ok = busy_ok
        self.parts: list[dict] = []

    def run(self, command: list[str]) -> tuple[str, int]:
        """Standard output and peak resident MiB; raises PartFailed."""
        busy = self.wait_for_quiet()
        self.parts.append({"command": shlex.join(map(without_folders, command)), "busy_before": round(busy, 3)})
        print("+", shlex.join(command), file=sys.stderr, flush=True)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            try:
                child = subprocess.Popen(command, cwd=ROOT, stdout=output)
            except OSError as error:
                raise PartFailed(f"{PROGRAM}: {command[0]}: expected a program: {error.strerror}") from None
            code, peak_mib = wait(child)
            output.seek(0)
            text = output.read()
        if code != 0:
            raise PartFailed(f"{PROGRAM}: {command[0]} returned {code}; its output ends with:\n{text[-2000:]}")
        return text, peak_mib


    def wait_for_quiet(self) -> float:
        """What others use, in the end."""
        for _ in range(PATIENCE):
            busy = busy_share()
            if busy <= QUIET or self.busy_ok:
                return busy
        sys.exit(f"{PROGRAM}: for {PATIENCE} s others used more than {QUIET:.0%} of the processors, now {busy:.0%}; wait, "
                 "or give --busy-ok")


def wait(child: subprocess.Popen) -> tuple[int, int]:
    """Its exit status and peak resident MiB."""
    try:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, usage.ru_maxrss // 1024
    finally:
        if child.returncode is None:
            child.kill()


def expect_positive(parser: argparse.ArgumentParser, arguments: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')}: expected at least 1, found {getattr(arguments, name)}")


@functools.cache  # before results are written anew: they are files of the tree
def machine() -> dict:
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")), "?")
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    changed = subprocess.check_output([*git, "status", "--porcelain", "--untracked-files=no"], text=True).strip()
    return {"processor": model, "processors": os.cpu_count(), "date": datetime.datetime.now().isoformat("T", "minutes"),
            "commit": commit + (" with changes" if changed else "")}
