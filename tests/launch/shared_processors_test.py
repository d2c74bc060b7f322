"""How the program's threads wait: shortly, unless the environment says otherwise, whatever starts it and however."""

import glob
import os
import pathlib
import subprocess

from program import Program, check

SHORTLY = b"GOMP_SPINCOUNT=1000"
OF_OPENMP = ("OMP_", "GOMP_")


def waiting(program, name, **variables):
    """The environment, name and arguments of a program that waits for its standard input, and how it ends."""
    environment = {key: value for key, value in program.environment.items() if not key.startswith(OF_OPENMP)} | variables
    words = [program.binary, "prepare", "--input", "-", "--split", "0.8,0.1,0.1", "--output", program.path(name)]
    process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    proc = pathlib.Path(f"/proc/{process.pid}")
    # More than a pipe holds is written once the program reads: it has started, and started again.
    process.stdin.write(b"some text of a few words\n" * 10000)
    process.stdin.flush()
    found = [(proc / file).read_bytes() for file in ("environ", "comm", "cmdline")]
    _, said = process.communicate()
    check(process.returncode == 0, f"exit {process.returncode}: {said.decode()}")
    expected = [os.path.basename(program.binary)[:15].encode() + b"\n", b"\0".join(map(os.fsencode, words)) + b"\0"]
    check(found[1:] == expected, f"its name and arguments: expected {expected}, found {found[1:]}")
    return found[0].split(b"\0")


def test_it_waits_shortly_by_itself(program):
    environment = waiting(program, "plain")
    check(environment.count(SHORTLY) == 1, f"expected {SHORTLY}, found {environment}")


def test_what_the_environment_says_stays(program):
    for name, value in (("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "7")):
        environment = waiting(program, name, **{name: value})
        found = [each for each in environment if each.startswith((b"OMP_", b"GOMP_"))]
        check(found == [f"{name}={value}".encode()], f"expected {name}={value} alone, found {found}")


def test_the_loader_may_start_it(program):
    """As tools do that change which libraries a program gets."""
    (loader, *_) = glob.glob("/lib64/ld-linux-x86-64.so.2")
    environment = {key: value for key, value in program.environment.items() if not key.startswith(OF_OPENMP)}
    done = subprocess.run([loader, program.binary, "--version"], env=environment, capture_output=True, text=True)
    check(done.returncode == 0 and done.stdout.startswith("segue "), f"{done.stdout}{done.stderr}")


def main():
    program = Program()
    test_it_waits_shortly_by_itself(program)
    test_what_the_environment_says_stays(program)
    test_the_loader_may_start_it(program)


main()
