"""What the programs that measure share: where things lie, files of results, and parts that run one after the other, each
watched, on a machine that should be quiet."""

import argparse
import datetime
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
sys.path.insert(0, str(PEERS))
from command_line import PROGRAM, Parser, at_least, needs  # noqa: E402, F401: with the peers, which are packed alone

QUIET = 0.05  # share of the processors that others may use
PATIENCE = 60  # looks, a second each, until they do
GLANCE = 0.1  # seconds of a look where they may use more
SEGUE = "launch/segue/segue"


def here(text: str) -> pathlib.Path:
    """A path as seen from where the program was called; named from the top of the repository, where parts run."""
    path = pathlib.Path(os.path.abspath(text))
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def add_build(parser: Parser, what: str = "build directory") -> None:
    parser.add_argument("--build", type=here, default=pathlib.Path("build/release"), help=what)


def add_output(parser: Parser, name: str | None) -> None:
    """Results of today by default; none where there is no name."""
    default = pathlib.Path("benchmarks/results") / f"{name}-{datetime.date.today().isoformat()}" if name else None
    parser.add_argument("--output", type=here, default=default, help="files to write, without their suffix")


def add_python(parser: Parser, modules: str) -> None:
    parser.add_argument("--no-peer", action="store_true", help="Segue alone")
    parser.add_argument("--python", default=sys.executable, help=f"interpreter that has {modules}")


def add_set(parser: Parser, what: str) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=f"of {what}, as for segue")


def add_busy_ok(parser: Parser) -> None:
    parser.add_argument("--busy-ok", action="store_true", help="measure even when others use the processors")


def settings(words: list[str]) -> list[str]:
    """The options of `segue` that set these."""
    return [word for setting in words for word in ("--set", setting)]


def program_of(parser: Parser, build: pathlib.Path, name: str = SEGUE, target: str = "") -> str:
    """Of a build, as parts call it."""
    path = ROOT / build / name
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        target = target or path.name
        parser.error(f"--build: expected a build that has {name}, found none in {build}: cmake --build BUILD --target {target}")
    return str(build / name)


def check_python(parser: Parser, arguments: argparse.Namespace) -> None:
    if not arguments.no_peer:
        name = arguments.python
        arguments.python = str(here(name)) if "/" in name else name
        if shutil.which(str(ROOT / here(name)) if "/" in name else name) is None:
            parser.error(f"--python: expected an interpreter, found none at {name}")


def check_file(parser: Parser, option: str, path: pathlib.Path) -> None:
    if not os.path.isfile(ROOT / path) or not os.access(ROOT / path, os.R_OK):
        parser.error(f"{option}: expected a file that can be read, found none at {path}")


def check_data(parser: Parser, name: str, directory: pathlib.Path) -> None:
    if not os.path.isdir(ROOT / directory):
        parser.error(f"{name}: expected the directory of a dataset, found none at {directory}")


def check_folder(parser: Parser, option: str, folder: pathlib.Path) -> None:
    """And makes it."""
    try:
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=ROOT / folder).close()
    except OSError as error:
        parser.error(f"{option}: expected a directory to write to at {folder}: {error.strerror}")


def check_output(parser: Parser, output: pathlib.Path | None) -> None:
    """Before hours of measuring."""
    if output is None:
        return
    if os.path.isdir(ROOT / output):
        parser.error(f"--output: expected names of files without their suffix, found the directory {output}")
    check_folder(parser, "--output", output.parent)


def write_results(output: pathlib.Path, **texts: str) -> None:
    """By suffix."""
    for suffix, text in texts.items():
        pathlib.Path(f"{ROOT / output}.{suffix}").write_text(text)


def call(command: list[str]) -> str:
    """Standard output of a program that is not timed; ends this one with one line where it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{PROGRAM}: {shlex.join(command)} returned {done.returncode}: {last_line(done.stdout + done.stderr)}")
    return done.stdout


def check_per_byte(file: pathlib.Path, result: dict) -> None:
    """Of what `segue compare` found."""
    if not result["tokens_per_byte"]:
        sys.exit(f"{PROGRAM}: {file}: tokens_per_byte: expected a number, found {result['tokens_per_byte']}: prepare the data from text")


def busy_share(seconds: float) -> float:
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
        began = time.monotonic()
        with (tempfile.TemporaryFile("w+", errors="replace") as output,
              tempfile.TemporaryFile("w+", errors="replace") as errors):
            try:
                child = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors)
            except OSError as error:
                raise PartFailed(f"{PROGRAM}: {command[0]}: expected a program: {error.strerror}") from None
            code, peak_mib = wait(child)
            self.parts[-1]["seconds"] = round(time.monotonic() - began, 3)
            output.seek(0)
            errors.seek(0)
            text, said = output.read(), errors.read()
        if code != 0:
            raise PartFailed(f"{PROGRAM}: {command[0]} returned {code}: {last_line(text + said)}")
        return text, peak_mib

    def wait_for_quiet(self) -> float:
        """What others use, in the end."""
        for _ in range(PATIENCE):
            busy = busy_share(GLANCE if self.busy_ok else 1.0)
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


def last_line(text: str) -> str:
    """In which a program says why it failed."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing said")


@functools.cache  # before results are written anew: they are files of the tree
def machine() -> dict:
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")), "?")
    changed = git("status", "--porcelain", "--untracked-files=no")
    return {"processor": model, "processors": os.cpu_count(), "date": datetime.datetime.now().isoformat("T", "minutes"),
            "commit": (git("rev-parse", "HEAD") or "unknown") + (" with changes" if changed else "")}


def git(*words: str) -> str:
    """What it says of the repository; nothing where this is no checkout."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
