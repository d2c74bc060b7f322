#!/usr/bin/env python3
"""Fails when an include does not point to a lower module, or when a file outgrows its size."""

import pathlib
import re
import sys

# The height of every place. A file includes from its own place and from lower ones, never from the same height elsewhere.
HEIGHTS = {
    "launch/library/include": -1,  # what users of the library include as <segue/...>: the standard library and one another
    "base": 0,
    "data_pipeline": 1,
    "distributed": 1,
    "kernels": 1,
    "core/config": 2,
    "core/drawing": 2,
    "core/checkpoint": 3,
    "core/tape": 4,
    "core/attention": 5,
    "core/head": 5,
    "core/optimizer": 5,
    "core/kinds": 6,
    "core/model": 7,
    "core/convert": 8,
    "core/memory": 8,
    "core/engine": 9,
    "core/extension": 9,
    "core/evaluation": 10,
    "core/generate": 11,
    "core/report": 11,
    "core/train": 11,
    "core/bench": 12,
    "core/compare": 12,
    "launch": 13,
    "tests": 14,
    "benchmarks": 14,
}
PUBLIC = "launch/library/include/"
STANDARD = re.compile(r"[a-z_]+")  # a header of the C++ standard library
MAX_LINES = {".h": 500, ".cc": 500, ".cu": 500, ".cuh": 500}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def place_of(path):
    """The longest listed place that holds the path, or None. Two files of a kind stand at other heights than the rest."""
    if re.fullmatch(r"core/kinds/.*/options\.(?:h|cc)", path):
        return "core/config"
    if re.fullmatch(r"core/kinds/.*/kept[a-z_]*\.(?:h|cc)", path):
        return "core/memory"
    folders = pathlib.PurePosixPath(path).parts[:-1]
    candidates = ["/".join(folders[:depth]) for depth in range(len(folders), 0, -1)]
    return next((place for place in candidates if place in HEIGHTS), None)


def include_problem(path, bracket, target):
    """What is wrong with one include of the file at `path`, or None."""
    if target.startswith("segue/"):
        target = PUBLIC + target
    here, there = place_of(path), place_of(target)
    if here == PUBLIC.rstrip("/") and there is None and not STANDARD.fullmatch(target):
        return f"{here} must not include {target}: what is built upon the library may not have it"
    if there is None:
        return f"includes {target}, which is not from the repository root" if bracket == '"' else None
    if here == there or HEIGHTS[there] < HEIGHTS[here]:
        return None
    return f"{here} must not include {there} ({target})"


def problems_of(root, path):
    """Every problem of one file, as lines that begin with where it is."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    if place_of(path) is None:
        yield f"{path}: lies in no listed place; give its folder a height in check_includes.py"
        return
    limit = MAX_LINES[pathlib.PurePosixPath(path).suffix]
    if len(lines) >= limit:
        yield f"{path}: {len(lines)} lines, expected fewer than {limit}"
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        problem = match and include_problem(path, *match.groups())
        if problem:
            yield f"{path}:{number}: {problem}"


def problems_under(root):
    """Every problem of every source file in the folders of the modules."""
    folders = sorted({place.split("/")[0] for place in HEIGHTS})
    files = (file for folder in folders for file in sorted((root / folder).rglob("*")) if file.suffix in MAX_LINES)
    return [problem for file in files for problem in problems_of(root, file.relative_to(root).as_posix())]


if __name__ == "__main__":
    found = problems_under(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "every include points down, every file keeps its size")
    sys.exit(1 if found else 0)
