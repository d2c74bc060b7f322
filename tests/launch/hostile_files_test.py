"""Hostile files for every reader: a documented exit code and one line, no signal, no hang, little memory.

Each case runs with 2 GiB of address space and 20 seconds, and may take 512 MiB of memory at most.
"""

import collections
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import hostile_case
import hostile_files
from program import TINY_MODEL, Program, check

MOST_SECONDS = 20
MOST_ADDRESSES = 2 << 30
MOST_KIB = 512 << 10
LEAST_CASES = 100


def sound_files(program):
    program.prepare_text("text", 4000, seed=2)
    program.config("run.json", data={"path": program.path("text")}, model=TINY_MODEL, evaluation={"interval": 0}, checkpoint={"interval": 2},
                   training={"batch_size": 3, "tgt_len": 16, "max_step": 4, "log_interval": 1})
    program.run("train", "run.json", "--run", "run", "--quiet")
    program.run("train", "run.json", "--run", "encoder", "--quiet", "--set", "model.memory.kind=encoder", "--set", "model.position.kind=rope")
    program.run("eval", "--checkpoint", "run", "--data", "text", "--per-token", "--output", "evaluated", "--quiet")
    shutil.copy(program.path("evaluated", "losses-mem-24.h5"), program.path("losses.h5"))
    program.run("export", "--checkpoint", "run", "--output", "model.safetensors", "--args", "args.json")


class Ending:
    """What became of a command."""

    def __init__(self, program, directory, command):
        begin = time.monotonic()
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [program.binary, *map(str, command)], cwd=directory, env=program.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=errors, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES)))
            limit = threading.Timer(MOST_SECONDS, process.kill)
            limit.start()
            _, status, usage = os.wait4(process.pid, 0)
            limit.cancel()
            self.seconds = time.monotonic() - begin
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.kib = usage.ru_maxrss
            output.seek(0)
            errors.seek(0)
            self.output, self.errors = output.read(), errors.read()

    def complaints(self, case):
        codes = case.code if isinstance(case.code, tuple) else (case.code,)
        if self.seconds >= MOST_SECONDS:
            yield f"took {self.seconds:.1f} s"
        elif self.code not in codes:
            yield f"exit {self.code}, expected {codes}"
        if self.kib > MOST_KIB:
            yield f"took {self.kib >> 10} MiB"
        lines = [line for line in self.errors.split(b"\n") if line.startswith(b"segue: ")]
        if codes != (0,) and len(lines) != 1:
            yield f"{len(lines)} lines of error"
        said = (self.output if codes == (0,) else b"".join(lines)).decode(errors="replace")
        for word in case.words:
            if word not in said:
                yield f"expected {word!r}"
        controls = [byte for byte in self.output + self.errors if byte < 0x20 and byte not in b"\n\t\r"]
        if controls or b"\xc2\x9b" in self.output + self.errors:
            yield "sends control characters to the terminal"


def run_case(program, seal, number, case):
    directory = program.path(f"case-{number}")
    os.mkdir(directory)
    place = hostile_case.Place(directory, seal)
    if case.make:
        case.make(place)
    ending = Ending(program, directory, case.command)
    complaints = list(ending.complaints(case))
    if os.path.exists(place.path("made")) and case.command[0] != "train":
        complaints.append("left something behind")
    shutil.rmtree(directory)
    if complaints:
        shown = (ending.output[-300:] + ending.errors[-1000:]).decode(errors="backslashreplace")
        print(f"{case.reader}: {case.name}: {'; '.join(complaints)}\n  {shown!r}")
    return ending, bool(complaints)


def main():
    program = Program()
    sealer = os.path.abspath(sys.argv[2])
    sound_files(program)
    counts, slowest, largest, failed = collections.Counter(), 0.0, 0, 0
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    for number, case in enumerate(hostile_files.cases()):
        if only not in f"{case.reader}: {case.name}":
            continue
        ending, has_failed = run_case(program, lambda directory: subprocess.run([sealer, directory], check=True), number, case)
        counts[case.reader] += 1
        failed += has_failed
        slowest, largest = max(slowest, ending.seconds), max(largest, ending.kib)
    for reader, count in sorted(counts.items()):
        print(f"{count:4} {reader}")
    print(f"{sum(counts.values())} hostile files; at most {slowest:.2f} s and {largest / 1024:.0f} MiB")
    check(failed == 0, f"{failed} cases")
    check(only or sum(counts.values()) >= LEAST_CASES, "too few cases")


main()
