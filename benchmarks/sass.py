"""What reads the machine code of a build's CUDA kernels shares: cuobjdump, and its output function by function."""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import NoReturn

CANNOT_SAY = 2  # as an exit code


def fail(message: str) -> NoReturn:
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(CANNOT_SAY)


def run(command: list[str]) -> str:
    program = shutil.which(command[0]) or fail(f"{command[0]}: no such program")
    folder = pathlib.Path(program).resolve().parent  # nvdisasm, which cuobjdump calls, lies there too
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    try:
        return subprocess.run([program, *command[1:]], check=True, capture_output=True, text=True, env=environment).stdout
    except subprocess.CalledProcessError as error:
        fail(f"{' '.join(command[:2])}: {error}")


def functions(text: str) -> list[tuple[str, str, list[str]]]:
    """Architecture, name and lines of each function in the output of cuobjdump."""
    found: list[tuple[str, str, list[str]]] = []
    architecture = ""
    for line in text.splitlines():
        words = line.split()
        if "arch =" in line or (words[:2] == ["code", "for"] and not architecture):
            architecture = words[-1]
        elif words and words[0] == "Function":
            found.append((architecture, words[-1].rstrip(":"), []))
        elif found:
            found[-1][2].append(line)
    return found
