#!/usr/bin/env python3
"""Fails where sources ask in more places than before which kind of memory a model has. Who adds a kind must find and
extend each such place, but adds a row to a table without a search. So the numbers kept here only become fewer."""

import pathlib
import re
import sys

FOLDERS = ("core", "launch")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
# A kind by its name, or a function that answers for some kinds alone. Declaring one more counts too.
QUESTION = re.compile(r"\bMemoryKind::k|\busing enum MemoryKind\b|\b(?:" + "|".join([
    "associates", "encoder_layers", "hands_on_states", "has_infini_memory", "keeps_most_used",
    "learns_compression", "memory_tokens", "read_tokens", "reconstruction_of", "writes_own_tokens",
]) + r")\(")
COMMENT = re.compile(r"//.*")
# Tables with a row for each kind, and sources of one kind alone.
OWN = re.compile(r"core/(?:config/(?:kinds|needs|carried)\.|kinds/memory/(?:model_memory\.|[a-z_]+/)|"
                 r"memory/(?:compressed_cache|compressed_memory|encoder_memory|token_memory)\.)")
# How often each of the others asks.
KEPT = {
    "core/attention/attention.cc": 1,
    "core/bench/eval_speed_bench.cc": 2,
    "core/config/kind_checks.cc": 1,
    "core/config/model_config.cc": 6,
    "core/config/model_config.h": 10,
    "core/config/model_use.cc": 22,
    "core/convert/arguments.cc": 2,
    "core/evaluation/evaluation_job.cc": 5,
    "core/memory/memory.cc": 15,
    "core/model/frozen_tapes.cc": 1,
    "core/model/parameter_specs.cc": 3,
    "core/model/reach.cc": 3,
    "core/model/transformer.cc": 20,
    "core/train/model_products.cc": 2,
    "core/train/trainer.cc": 2,
    "core/train/trainer_plan.cc": 1,
    "launch/segue/bench_command.cc": 2,
}


def questions_of(text):
    """How often a source asks."""
    return sum(len(QUESTION.findall(COMMENT.sub("", line))) for line in text.splitlines())


def questions_under(root):
    """How often each source asks, of those that do without being a kind's own."""
    files = (file for folder in FOLDERS for file in sorted((root / folder).rglob("*")) if file.suffix in SUFFIXES)
    counts = {file.relative_to(root).as_posix(): questions_of(file.read_text(encoding="utf-8")) for file in files}
    return {path: count for path, count in counts.items() if count > 0 and not OWN.match(path)}


def problems_of(counts, kept):
    """Every source that asks more often than is kept of it, or less often, so that the number can be lowered."""
    for path in sorted(counts.keys() | kept.keys()):
        count, limit = counts.get(path, 0), kept.get(path, 0)
        if count > limit:
            yield (f"{path}: asks {count} times for the kind of memory, expected at most {limit}; let a row of a table "
                   "say it, as in core/config/needs.cc")
        if count < limit:
            yield f"{path}: asks {count} times for the kind of memory, no longer {limit}: lower it in check_kinds.py"


if __name__ == "__main__":
    found = list(problems_of(questions_under(pathlib.Path(sys.argv[1])), KEPT))
    print("\n".join(found) or f"{len(KEPT)} sources ask {sum(KEPT.values())} times for the kind of memory, as before")
    sys.exit(1 if found else 0)
