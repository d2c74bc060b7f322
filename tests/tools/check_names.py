#!/usr/bin/env python3
"""Fails where code, messages or docs call a thing by another name than the field's: one word for one thing."""

import pathlib
import re
import subprocess
import sys

# Pages in plain English, where a common word stands for one that is the project's alone or old.
PLAIN = ("README.md", "CONTRIBUTING.md", "configs/README.md", "benchmarks/README.md", "launch/cluster/README.md",
         "docs/architecture.md", "docs/decisions.md", "docs/formats.md", "docs/numerics.md")
# What is not said, where (prefixes of the path; "" is everywhere), and what is said in its place.
GLOSSARY = [
    (r"\bkernels::Stream\b|\bRandomStream\b|residual stream", "",
     "a stream is a stream of text; a device has a queue, a layer a residual, a draw a random sequence"),
    (r"\bstream of (?:the )?(?:GPU|device)\b", "core", "queue"),
    (r"(?i)exchange.?format|\bexchange of weights\b", "", "convert, weight format: gradients are exchanged"),
    (r"\bKeyValueMemory\b|\bkey_value_memory\b|memory of keys and values", "", "KV cache"),
    (r"(?i)\bscores without their biases\b", "", "logits before their bias is added"),
    (r"(?i)\bplaces?\b(?! of (?:the|its|an?)\b)", "core/attention", "position"),
    (r"(?i)\bby (?:the )?place\b|loss by place", "", "by position"),
    (r"(?i)\bno one foresaw\b|\bunforeseen\b", "", "unexpected error"),
    (r"(?i)\ba defect of the program\b", "", "internal error"),
    (r"(?i)\b(?:document|documents') borders?\b|document_border\b|document-border\b", "", "document boundary"),
    (r"(?i)\btwins?\b", PLAIN, "memory-free baseline"),
    (r"(?i)\btold from\b", PLAIN, "differs significantly from"),
    (r"(?i)\bby turns\b", PLAIN, "in alternation"),
    (r"(?i)\banew\b", PLAIN, "again"),
    (r"(?i)\bshall\b", PLAIN, "must, should or will"),
    (r"(?i)\bdropouts\b", PLAIN, "dropout"),
    (r"(?i)\bturned by\b", PLAIN, "rotated by: queries and keys"),
    (r"(?i)\bdrawn (?:blocks?|positions?|orders?)\b", PLAIN, "random"),
]
# Where an old name stands on purpose: the tables of what was renamed, their tests, what was measured, and this file.
EXCEPTIONS = ("CHANGELOG.md", "base/json_paths.cc", "benchmarks/results/", "core/attention/learned_position.cc",
              "tests/launch/flags_test.py", "tests/tools/check_names")
SUFFIXES = {".cc", ".cu", ".cuh", ".h", ".json", ".md", ".py", ".sh", ".txt", ".cmake", ""}


def problems_of(path, text):
    """Every wrong name in one file, as lines that begin with where it is."""
    if path.startswith(EXCEPTIONS):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, where, instead in GLOSSARY:
            match = path.startswith(where) and re.search(pattern, line)
            if match:
                yield f"{path}:{number}: \"{match[0]}\": say {instead}"


def problems_under(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True)
    for path in listed.stdout.splitlines():
        file = root / path
        if file.suffix in SUFFIXES and file.is_file() and b"\0" not in (content := file.read_bytes()):
            yield from problems_of(path, content.decode("utf-8", "replace"))


if __name__ == "__main__":
    found = list(problems_under(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "one word for one thing")
    sys.exit(1 if found else 0)
