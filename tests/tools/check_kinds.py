#!/usr/bin/env python3
"""Fails where a source outside a kind's folder names a kind of memory or of block. Who adds one must find and extend each
such place, but adds a line to core/config/memory_kinds.inc or block_kinds.inc without a search: let an entry of a kind's
row answer, such as those of core/config/memory_row.h, or a station of core/kinds/memory/model_memory.h."""

import pathlib
import re
import sys

FOLDERS = ("core", "launch")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
NAMED = re.compile(r"\b(?:Memory|Block)Kind::k[A-Z]\w*|\busing enum (?:Memory|Block)Kind\b")
COMMENT = re.compile(r"//.*")
# Kinds' own folders, and the table of what kinds of other axes go with.
OWN = re.compile(r"core/kinds/(?:memory|block)/[a-z_]+/|core/config/kind_requirements\.cc")


def names_in(text):
    """The kinds that a source names, with their lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        for name in NAMED.findall(COMMENT.sub("", line)):
            yield number, name


def problems_under(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix in SUFFIXES and not OWN.match(path):
                for number, name in names_in(file.read_text(encoding="utf-8")):
                    yield f"{path}:{number}: names {name}: expected a kind's own folder or row to say it"


if __name__ == "__main__":
    found = list(problems_under(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "only kinds name themselves")
    sys.exit(1 if found else 0)
