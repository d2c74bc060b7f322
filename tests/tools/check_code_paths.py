#!/usr/bin/env python3
"""Fails when a program has AVX-512 instructions outside the operations that are compiled for them: it would stop with an
illegal instruction on a processor without. Such code gets there when a linker keeps the wrong one of two equal inline
functions. One that only the level's own object can reach would be harmless; until now there is none."""

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


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_code_paths.py PROGRAM")
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
