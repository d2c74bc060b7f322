#!/usr/bin/env python3
"""Breaks the kernels and what drives CUDA on purpose, one place at a time, and demands that tests without a GPU notice.

Each mutation of mutations.py goes into a copy of its file, which is compiled and linked before the library that holds
the original. A mutation that no test notices fails this check, and so does one whose text is no longer there exactly
once.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from mutation import Mutation
from mutations import MUTATIONS

TIMEOUT_S = 120  # a kernel that waits forever has been noticed

# What a mutated file may be part of: kernels, what drives CUDA above its stand-ins, base/cuda, and what drives NCCL.
TARGETS = ("segue_cuda_emulated.dir", "segue_cuda_stood_in.dir", "segue_cuda_runtime.dir", "segue_nccl.dir")


class Build:
    """The build folder: how it compiles a source that may be mutated, and how it links a test."""

    def __init__(self, folder: pathlib.Path, source: pathlib.Path):
        self.folder = folder
        self.source = source
        commands = json.loads((folder / "compile_commands.json").read_text())
        self._compile = {
            entry["file"]: shlex.split(entry["command"])
            for entry in commands
            if any(target in entry["command"] for target in TARGETS)
        }
        self._commands = [entry["command"] for entry in commands]

    def has(self, mutation: Mutation) -> bool:
        """Whether it is of something that is built here: without CUDA there is nothing that drives it."""
        is_compiled = str(self.source / mutation.unit) in self._compile
        return is_compiled and any(f"/{mutation.test}.dir/" in command for command in self._commands)

    def compile(self, unit: str, overlay: pathlib.Path, output: pathlib.Path) -> None:
        """`unit` with the files under `overlay` in place of those of the same name. Warnings are not the question."""
        original = str(self.source / unit)
        command = list(self._compile[original])
        copy = overlay / unit
        command[command.index("-c") + 1] = str(copy) if copy.exists() else original
        command[command.index("-o") + 1] = str(output)
        first_include = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command.insert(first_include, f"-I{overlay}")
        self._run(command + ["-O1", "-w"])

    def link(self, target: str, replacement: pathlib.Path, output: pathlib.Path) -> None:
        listed = subprocess.run(["ninja", "-t", "commands", target], cwd=self.folder, check=True, capture_output=True)
        command = shlex.split(listed.stdout.decode().splitlines()[-1].removeprefix(": && ").removesuffix(" && :"))
        command[command.index("-o") + 1] = str(output)
        command.insert(next(i for i, word in enumerate(command) if word.endswith(".o")), str(replacement))
        self._run(command)

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:])


def passes(program: pathlib.Path, gtest_filter: str) -> bool:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [str(program), "--gtest_brief=1", f"--gtest_filter={gtest_filter}", "--gtest_fail_fast"]
    try:
        return subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def target_of(mutation: Mutation) -> str:
    return f"{mutation.folder}/{mutation.test}"


def verdict(build: Build, mutation: Mutation) -> str:
    """What is wrong with the mutation, or nothing."""
    text = (build.source / mutation.file).read_text()
    with tempfile.TemporaryDirectory(dir=build.folder) as name:
        overlay = pathlib.Path(name)
        copy = overlay / mutation.file
        copy.parent.mkdir(parents=True)
        copy.write_text(text.replace(mutation.text, mutation.replacement))
        program = overlay / "mutant"
        try:
            build.compile(mutation.unit, overlay, overlay / "mutant.o")
            build.link(target_of(mutation), overlay / "mutant.o", program)
        except RuntimeError as error:
            return f"it does not build: {error}"
        return "no test noticed" if passes(program, mutation.filter) else ""


def astray(source: pathlib.Path, mutations: list[Mutation]) -> list[str]:
    """Those whose text the file does not hold once, as after a change to it: whichever share of them is tried."""
    counts = [(m, (source / m.file).read_text().count(m.text)) for m in mutations]
    return [f"its text is there {count} times: {m.file}: {m.meaning}" for m, count in counts if count != 1]


def one_in(share: int, mutations: list[Mutation], source: pathlib.Path) -> list[Mutation]:
    """Every `share`-th mutation, at least one where there are any; what all their files hold decides which."""
    digest = hashlib.sha256()
    for file in sorted({mutation.file for mutation in mutations}):
        digest.update((source / file).read_bytes())
    first = int.from_bytes(digest.digest()[:4], "big")
    return mutations[first % max(1, min(share, len(mutations)))::share]


def unbroken(build: Build, mutations: list[Mutation]) -> bool:
    """Whether the tests pass as long as nothing is broken; otherwise they would notice anything."""
    filters = {}
    for mutation in mutations:
        filters.setdefault(target_of(mutation), set()).add(mutation.filter)
    failing = [target for target, some in filters.items() if not passes(build.folder / target, ":".join(some))]
    for target in failing:
        print(f"{target} fails without any mutation")
    return not failing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutations whose file, source or meaning contains this")
    parser.add_argument("--share", type=int, default=1, help="one in so many, others once a file is another")
    parser.add_argument("--tests-pass", action="store_true", help="they have been run: not before anything is broken, too")
    arguments = parser.parse_args()
    build = Build(arguments.build.resolve(), arguments.source.resolve())
    asked = [m for m in MUTATIONS if any(arguments.only in text for text in (m.file, m.unit, m.meaning))]
    chosen = [m for m in asked if build.has(m)]
    lost = [m for m in asked if not build.has(m) and not (m.needs_cuda and (build.source / m.unit).exists())]
    wrong = [f"its unit or its test is not there: {m.file}: {m.meaning}" for m in lost] + astray(build.source, asked)
    if wrong:
        print("\n".join(wrong))
        return 1
    if len(chosen) < len(asked):
        print(f"{len(asked) - len(chosen)} mutations left out: they are of what this build is without")
    chosen = one_in(arguments.share, chosen, build.source)
    if not chosen or not (arguments.tests_pass or unbroken(build, chosen)):
        return 1
    survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for mutation, wrong in zip(chosen, workers.map(lambda m: verdict(build, m), chosen)):
            print(f"{wrong or 'noticed'}: {mutation.file}: {mutation.meaning}", flush=True)
            survivors += bool(wrong)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutations noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
