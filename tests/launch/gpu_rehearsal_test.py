"""launch/checks/gpu_check --rehearse, all of it on the emulated GPU, killed at some moments: no process stays, what was found is
not lost, and going on from the JSON, here or as from another host, ends in the complete table each time.

The arguments are the program, the build directory and how often to kill. PyTorch, ncu and compute-sanitizer are stand-ins.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from gpu_check_test import KERNELS, SANITIZER, script, torch
from program import Program, check

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "launch" / "checks" / "gpu_check"
KILLS_OF_ROUND = 2
PATIENCE = 20.0  # seconds until processes are gone


class Rehearsal:
    def __init__(self, program, build):
        script(program, "bin/ncu", KERNELS)
        script(program, "bin/compute-sanitizer", SANITIZER)
        stand_in_for_torch = torch(program)
        self.program = program
        self.marker = f"SEGUE_REHEARSAL={program.directory}"
        self.environment = {**program.environment, "PATH": f"{program.path('bin')}:{os.environ['PATH']}",
                            "SEGUE_REHEARSAL": program.directory}
        self.command = [sys.executable, SCRIPT, "--rehearse", "--build", build, "--python", stand_in_for_torch, "--text",
                        program.write("text.txt", "all work and no play\n" * 100)]

    def start(self, output, *previous):
        words = [word for path in previous for word in ("--previous", path)]
        with open(self.program.path("log"), "w") as log:
            return subprocess.Popen([*self.command, "--output", output, *words], env=self.environment, stdout=log, stderr=log)

    def finish(self, output, *previous):
        code = self.start(output, *previous).wait()
        check(code == 0, f"exit {code}:\n{pathlib.Path(self.program.path('log')).read_text()}")
        return results_in(output)

    def left_behind(self):
        """The commands of processes that bear the marker."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.marker in (folder / "environ").read_bytes().decode(errors="replace").split("\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass
        return found

    def kill_at_random(self, draw, output, *previous):
        """Whether it still ran then."""
        from_nothing = not previous and not paths_in(output)
        start = time.monotonic()
        process = self.start(output, *previous)
        try:
            process.wait(draw.uniform(0.02, 0.7 * self.seconds))
            if from_nothing:  # less of the machine is taken than before
                self.seconds = min(self.seconds, time.monotonic() - start)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
            process.wait()
        end = time.monotonic() + PATIENCE
        while left := self.left_behind():
            check(time.monotonic() < end, f"left behind: {left}")
            time.sleep(0.01)
        return True


def paths_in(output):
    return [path for path in pathlib.Path(output).glob("emulated-gpu*") if path.suffix == ".json"]


def results_in(output):
    (path,) = paths_in(output)
    return json.loads(path.read_text()), path.with_suffix(".md").read_text()


def cases_in(output):
    return {(name, case) for path in paths_in(output) for name, part in json.loads(path.read_text())["parts"].items()
            for case in part["results"]}


def check_complete(expected, found):
    (expected, _), (data, table) = expected, found
    for name, part in data["parts"].items():
        check(f"| {name} | passed |" in table, f"{name} is not complete:\n{table}")
        check(set(part["results"]) == set(expected["parts"][name]["results"]) != set(), f"{name}: other cases")
    check([goal["goal"] for goal in data["goals"]] == [goal["goal"] for goal in expected["goals"]], f"goals: {data['goals']}")


def one_round(rehearsal, draw, folder):
    """How often it was killed."""
    output, previous, kills = folder + "-0", [], 0
    for _ in range(2 * KILLS_OF_ROUND):
        before = cases_in(output)
        kills += rehearsal.kill_at_random(draw, output, *previous)
        after = cases_in(output)
        check(before <= after, f"lost: {before - after}")
        if kills == KILLS_OF_ROUND:
            break
        if draw.random() < 0.5 and paths_in(output):  # the next call is on another host
            previous, output = paths_in(output), f"{folder}-{kills + 1}"
    check_complete(rehearsal.complete, rehearsal.finish(output, *previous))
    return kills


def main():
    program = Program()
    rehearsal = Rehearsal(program, sys.argv[2])
    start = time.monotonic()
    rehearsal.complete = rehearsal.finish(program.path("complete"))
    rehearsal.seconds = time.monotonic() - start
    check_complete(rehearsal.complete, rehearsal.complete)
    check(len(rehearsal.complete[0]["parts"]) == 9, "not all parts")
    draw, wanted = random.Random(1), int(sys.argv[3])
    kills = rounds = 0
    while kills < wanted:
        check(rounds < wanted, f"only {kills} kills hit")
        kills += one_round(rehearsal, draw, program.path(f"round-{rounds}"))
        rounds += 1
    print(f"{kills} kills in {rounds} rounds of {rehearsal.seconds:.1f} s")


if __name__ == "__main__":
    main()
