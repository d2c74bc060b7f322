"""Runs commands on a host with a GPU so that none hangs, none outlives its time, and none outlives this program."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable

LOOK_SECONDS = 0.02  # between two looks at a command that runs
KILL_SECONDS = 10.0  # after which a process that does not die is left: the kernel may hold it for ever


class Skipped(Exception):
    """Something the part needs is not on this host; nobody's failure."""


class Failed(Exception):
    pass


class LeftOver(Exception):
    """The time is over; a later call goes on."""

    def __init__(self, seconds: float | None = None):
        super().__init__()
        self.seconds = seconds  # that a command had; None: it was not begun


def without_folders(word: str) -> str:
    """Absolute paths by their last part: results are published, and where things lie on a host is not part of them."""
    return re.sub(r"(^|=)/\S*/", r"\1", word)


def processes_of_session(leader: int) -> list[int]:
    """All that a command started and that still runs, whatever process groups it made."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(folder.name))
    return found


def kill_session(leader: int) -> bool:
    """Whether all of them are gone."""
    end = time.monotonic() + KILL_SECONDS
    while members := processes_of_session(leader):
        for process in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def start_watcher() -> int:
    """A process that kills the command of the moment when this one is killed; it reads its session from the pipe that
    is returned, 0 for none."""
    reading, writing = os.pipe()
    if os.fork() != 0:
        os.close(reading)
        return writing
    os.close(writing)
    os.setsid()
    session = 0
    with os.fdopen(reading) as lines:
        for line in lines:
            session = int(line)
    if session != 0:
        kill_session(session)
    os._exit(0)


class Host:
    """Keeps what was run, and how much time is left."""

    def __init__(self, root: pathlib.Path, end: float):
        self.root = root
        self.end = end
        self.commands: list[str] = []
        self.watcher = start_watcher()

    def left(self) -> float:
        return self.end - time.monotonic()

    def run(self, command: list[str], bound: float, *, environment: dict[str, str] | None = None,
            heard: Callable[[str], None] | None = None) -> str:
        """What it printed. Failed, with the end of that, when it fails or takes longer than `bound` seconds; LeftOver
        when this program's time is over first. `heard` gets each line at once, and each begins the bound anew."""
        left = self.left()
        if left <= 0:
            raise LeftOver
        shown = shlex.join(without_folders(word) for word in command)
        if shown not in self.commands:
            self.commands.append(shown)
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(command, cwd=self.root, env={**os.environ, **(environment or {})},
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                     start_new_session=True, preexec_fn=lambda: self.tell_watcher(os.getpid()))
            try:
                ended = self.follow(child, output.fileno(), bound, heard)
            finally:
                gone = kill_session(child.pid)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(1)
                self.tell_watcher(0)
            text = read_from(output.fileno(), 0).decode(errors="replace")
        if not ended and self.left() <= 0:
            raise LeftOver(left)
        if not gone:
            raise Failed(f"{shown}: was killed and does not end; the GPU may hang")
        if not ended:
            raise Failed(f"{shown}: no end within {bound:g} s; it printed last: {text.strip()[-2000:]}")
        if child.returncode != 0:
            raise Failed(f"{shown}: exit {child.returncode}: {text.strip()[-2000:]}")
        return text

    def follow(self, child: subprocess.Popen, output: int, bound: float, heard: Callable[[str], None] | None) -> bool:
        """Until it ends; whether it did in time."""
        end = time.monotonic() + bound
        place = 0
        ended = False
        while not ended and time.monotonic() < min(end, self.end):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_SECONDS)
                ended = True
            if heard is None:
                continue
            text = read_from(output, place)
            complete = len(text) if ended else text.rfind(b"\n") + 1
            place += complete
            for line in text[:complete].decode(errors="replace").splitlines():
                end = time.monotonic() + bound
                heard(line)
        return ended

    def tell_watcher(self, session: int) -> None:
        os.write(self.watcher, f"{session}\n".encode())


def read_from(file: int, place: int) -> bytes:
    pieces = []
    while piece := os.pread(file, 1 << 20, place):
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)
