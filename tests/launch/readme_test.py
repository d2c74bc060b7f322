"""The README's first run, as it stands there: its commands are taken from the page and run on a small text."""

import os
import random
import re
import subprocess
import sys

from program import Program, check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Added to the training: some steps of a small model in place of some minutes.
SHORTER = ("--set model.d_model=32 --set model.d_inner=64 --set model.n_layer=2 --set training.max_step=12 "
           "--set evaluation.interval=0")


def first_run():
    """The commands of the first block below the heading."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        section = file.read().split("## A first run\n", 1)[1].split("\n## ", 1)[0]
    return re.search(r"```\n(.*?)```", section, re.DOTALL)[1]


def write_texts(program):
    source = random.Random(5)
    words = ["".join(source.choice("abcdefghij") for _ in range(source.randint(1, 7))) for _ in range(50)]
    for name in ("book.txt", "more.txt"):
        program.write(name, " ".join(source.choice(words) for _ in range(6000)) + "\n")


def main():
    program = Program()
    write_texts(program)
    os.symlink(os.path.join(os.path.abspath(ROOT), "configs"), program.path("configs"))
    commands, replaced = re.subn(r"(?m)^segue=\S+", f"segue='{program.binary}'", first_run())
    check(replaced == 1, "README.md: expected one line that says where the program is")
    commands, shortened = re.subn(r"(?m)^(\$segue train .*)$", rf"\1 {SHORTER}", commands)
    check(shortened == 1, "README.md: expected one command that trains")
    done = subprocess.run(["bash", "-euxc", commands], cwd=program.directory, env=program.environment,
                          capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"README.md: the first run ended with {done.returncode}\n{done.stdout}{done.stderr}")
    for made in ("data/book/manifest.json", "runs/book/config.json", "runs/book/evaluations/memory/evaluation.json"):
        check(os.path.exists(program.path(made)), f"the first run made no {made}")
    with open(program.path("book.html"), encoding="utf-8") as file:
        check("<svg" in file.read(), "the first run's report draws nothing")


main()
