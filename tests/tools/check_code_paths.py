#!/usr/bin/env python3
"""Fails when a program has AVX-512 instructions outside the operations that are compiled for them: it would stop with an
illegal instruction on a processor without. Such code gets there when a linker keeps the wrong one of two equal inline
functions. One that only the level's own object can reach would be harmless; until now there is none. Fails too when
that object shows others anything but its table of operations."""

import re
import subprocess
import sys

SYMBOL = re.compile(r"^[0-9a-f]+ <(.*)>:$")
AVX512 = re.compile(r"%zmm|%[xy]mm(?:1[6-9]|2\d|3[01])\b|%k[0-7]\b")
LEVEL = "x86_64_v4"


def functions_with_avx512(lines):
    """Those outside the level, once each, and how many there are inside it."""
    name, outside, inside = "", [], set()
    for line in lines:
        symbol = SYMBOL.match(line)
        if symbol:
            name = symbol[1]
        elif AVX512.search(line):
            if LEVEL in name:
                inside.add(name)
            elif name not in outside:
                outside.append(name)
    return outside, len(inside)


def check_object(path):
    listed = subprocess.run(["nm", "--extern-only", "--defined-only", path], capture_output=True, text=True, check=True)
    shown = [line.split()[-1] for line in listed.stdout.splitlines()]
    if len(shown) != 1 or LEVEL not in shown[0] or "kOperations" not in shown[0]:
        sys.exit(f"{path}: expected the table of {LEVEL} as the only symbol that others see, found {shown}")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: check_code_paths.py PROGRAM OBJECT_OF_THE_LEVEL")
    check_object(sys.argv[2])
    with subprocess.Popen(["objdump", "--disassemble", "--no-show-raw-insn", sys.argv[1]], stdout=subprocess.PIPE,
                          text=True) as objdump:
        outside, inside = functions_with_avx512(objdump.stdout)
    if objdump.returncode != 0:
        sys.exit(f"check_code_paths: objdump returned {objdump.returncode}")
    for name in outside:
        print(f"{sys.argv[1]}: {name}: AVX-512 outside of {LEVEL}")
    if not outside and inside == 0:
        sys.exit(f"{sys.argv[1]}: expected functions of {LEVEL} with AVX-512, found none")
    sys.exit(1 if outside else 0)


main()
