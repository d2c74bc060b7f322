"""Synthetic tasks: 10,000 examples of each against an independent solver, the same dataset each time, and bad input."""

import json
import pathlib

from further_task_solvers import check_further_tasks
from program import Program, check, refused
from task_solver import SOLVERS, Wrong, check_example

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "configs" / "tasks"
USAGE, CONFIG, DATA, FILE = 2, 3, 4, 6
EXAMPLES = 10000


def check_lines(program, path, split, count, *overrides):
    spec = json.loads(pathlib.Path(path).read_text())
    for override in overrides:
        key, value = override.split("=")
        spec[key] = json.loads(value)
    arguments = [word for override in overrides for word in ("--set", override)]
    lines, _ = program.run("tasks", path, "--print", count, "--split", split, *arguments)
    found = 0
    for number, line in enumerate(lines.splitlines()):
        try:
            check_example(spec, json.loads(line))
        except Wrong as wrong:
            check(False, f"{path} {split} {overrides}, example {number}: {wrong}\n{line}")
        found += 1
    return spec["kind"], found


def test_answers(program):
    counts = dict.fromkeys(SOLVERS, 0)
    paths = sorted(PRESETS.glob("small/*.json"))
    for path in [path for path in paths if json.loads(path.read_text())["kind"] in SOLVERS]:
        for split, count in (("train", EXAMPLES), ("valid", 100), ("test", 1000)):
            kind, found = check_lines(program, path, split, count)
            counts[kind] += found
    for name in ("retrieval_replacement", "even_pairs", "cycle_navigation", "modular_arithmetic"):
        check_lines(program, PRESETS / f"{name}.json", "train", EXAMPLES if name != "retrieval_replacement" else 2000)
    check_lines(program, PRESETS / "recall.json", "train", 2000)
    check_lines(program, PRESETS / "small/recall.json", "train", 2000, "seed=7")
    check(min(counts.values()) >= EXAMPLES, f"examples: {counts}")


def test_dataset(program):
    path = PRESETS / "small/rewrite.json"
    program.run("tasks", path, "--output", "first", "--quiet")
    program.run("tasks", path, "--output", "second", "--quiet", "--compress", 9)
    program.run("tasks", path, "--output", "other", "--quiet", "--set", "seed=2")
    manifests = [json.loads(pathlib.Path(program.path(name, "manifest.json")).read_text())
                 for name in ("first", "second", "other")]
    shards = [[(shard["file"], shard["checksum"]) for split in manifest["splits"]
               for shard in split["shards"] + split["marks"]["shards"]] for manifest in manifests]
    check(len(shards[0]) >= 6 and shards[0] == shards[1] != shards[2], f"shards: {shards}")
    check(manifests[0]["task"] == "rewrite" and "segue tasks" in manifests[0]["command"], "manifest")
    made = json.loads(pathlib.Path(program.path("other", "task.json")).read_text())
    check(made["seed"] == 2 and "reassigned" not in made, f"task.json: {made}")
    program.run("tasks", program.path("other", "task.json"), "--output", "again", "--quiet")
    again = json.loads(pathlib.Path(program.path("again", "manifest.json")).read_text())
    check(again["splits"] == manifests[2]["splits"], "task.json makes another dataset")
    program.run("inspect", "first")


def test_bad_input(program):
    part = {"examples": 10, "length": 64, "items": 8}
    program.config("good.json", kind="recall", vocabulary=512, splits=[{"name": "train", "parts": [part]}])

    def refuse(code, says, *more, file="good.json"):
        refused(program, code, "tasks", file, "--output", "made", *more, says=says, leaves_nothing_at="made")

    refuse(CONFIG, ["good.json: splits[0].parts[0].items", "at most 7", "found 8"], "--set", "vocabulary=16")
    for words, says in ((("kind=recal",), ["--set kind=recal", "recall"]), (("vocabulary=1",), ["vocabulary", "at least 2"]),
                        (("rewritten=true",), ["rewritten", '"rewrite"']), (("seed=-1",), ["seed", ">= 0"]),
                        (("vocab=9",), ["unknown key"]), (("splits=[]",), ["splits", "found 0"]),
                        (("reassigned=1.5",), ["<= 1"]), (("kind=induction",), ["items", "special"]),
                        (("kind=ngram", "key_tokens=1", "vocabulary=28"), ["length", "at most"])):
        refuse(CONFIG, says, *[word for override in words for word in ("--set", override)])
    refuse(FILE, ["missing.json"], file="missing.json")
    refuse(USAGE, ["--print", "--output"], "--print", 3)
    refuse(USAGE, ["--split", "--print"], "--split", "train")
    refused(program, USAGE, "tasks", "good.json", says=["--output", "--print"])
    refused(program, USAGE, "tasks", "good.json", "--print", 1, "--split", "test", says=["--split", "train", "test"])
    for name, text in (("broken.json", "{"), ("list.json", "[]"), ("empty.json", ""), ("bytes.json", b"\xff\0")):
        program.write(name, text)
        refuse(CONFIG, [name], file=name)
    program.config("long.json", kind="recall", vocabulary=512,
                   splits=[{"name": "train", "parts": [{**part, "examples": 2**31}, {**part, "examples": 1}]}])
    refuse(CONFIG, ["long.json: splits[0].parts", "examples in all"], file="long.json")
    refuse(USAGE, ["made/manifest.json"], "--shard-tokens", 1, "--set",
           'splits=[{"name": "train", "parts": [{"examples": 1000000, "length": 64}]}]')
    program.run("tasks", "good.json", "--output", "kept", "--quiet")
    before = pathlib.Path(program.path("kept", "manifest.json")).read_bytes()
    refused(program, DATA, "tasks", "good.json", "--output", "kept", says=["kept", "--force"])
    check(pathlib.Path(program.path("kept", "manifest.json")).read_bytes() == before, "an existing dataset was touched")
    program.run("tasks", "good.json", "--output", "kept", "--force", "--quiet", "--set", "seed=3")
    check(pathlib.Path(program.path("kept", "manifest.json")).read_bytes() != before, "--force did not replace")


def main():
    program = Program()
    test_bad_input(program)
    test_dataset(program)
    test_answers(program)
    program.prepare_text("filler", 200000, 5)
    check_further_tasks(program, EXAMPLES)


main()
