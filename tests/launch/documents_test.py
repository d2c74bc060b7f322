"""Training that tells documents apart.

With weights that hardly move, an epoch has the loss that an evaluation of each document alone finds, though documents begin
anywhere in its segments; the evaluations inside the run are those of `segue eval --document-boundary`.
"""

import json

from program import TINY_MODEL, Program, check, metrics, refused

CONFIG, DATA = 3, 4  # exit codes
TGT_LEN = 16
MEM_LEN = 400  # longer than any document
BOUNDARY = "\n"


def write_config(program, name, **data):
    return program.config(
        name, data={"path": "text", **data},
        model={**TINY_MODEL, "mem_len": MEM_LEN, "dropout": 0, "dropatt": 0, "init": {"init_std": 0.3}},
        optimizer={"lr": 1e-12}, training={"batch_size": 1, "tgt_len": TGT_LEN, "max_step": 1, "log_interval": 1},
        evaluation={"batch_size": 3, "mem_len": MEM_LEN})


def epoch(program, run, config):
    """The loss of all rows, and that of the evaluation after the last step."""
    with open(program.path("text", "manifest.json")) as file:
        tokens = next(split["tokens"] for split in json.load(file)["splits"] if split["name"] == "train")
    steps = (tokens - 2 + TGT_LEN) // TGT_LEN
    program.run("train", config, "--run", run, "--set", f"training.max_step={steps}", "--quiet")
    lines = metrics(program.path(run))
    trained = [line for line in lines if "evaluation" not in line]
    check(len(trained) == steps, f"{run}: {len(trained)} steps, expected {steps}")
    rows = [TGT_LEN] * (steps - 1) + [tokens - 1 - TGT_LEN * (steps - 1)]
    loss = sum(line["loss"] * count for line, count in zip(trained, rows)) / (tokens - 1)
    return loss, next(line["loss"] for line in reversed(lines) if "evaluation" in line)


def evaluated(program, run, split, *options):
    program.run("eval", "--checkpoint", run, "--data", "text", "--split", split, "--batch-size", 3, *options, "--output",
                f"{run}-{split}", "--force", "--quiet")
    with open(program.path(f"{run}-{split}", "evaluation.json")) as file:
        return json.load(file)["results"][0]["loss"]


def trains_as_it_evaluates(program):
    apart = epoch(program, "apart", write_config(program, "apart.json", document_boundary=BOUNDARY))
    boundary = ("--document-boundary", BOUNDARY)
    for found, split in zip(apart, ("train", "valid")):
        expected = evaluated(program, "apart", split, *boundary)
        check(abs(found - expected) < 1e-5, f"{split}: loss {found}, each document alone {expected}")
    together = epoch(program, "together", write_config(program, "together.json"))
    check(abs(together[0] - apart[0]) > 1e-3, f"losses {apart} apart and {together} together")


def tells_of_documents(program):
    """At the start, how many each split has; a boundary that divides nothing in what is evaluated does not go unsaid."""
    with open(program.path("text.txt")) as file:
        text = file.read()
    counts = [part[:-1].count("\n") + 1 for part in (text[:1600], text[1600:1800])]
    for typed in (r"\n", r"\x0a"):
        config = write_config(program, "typed.json", document_boundary=typed)
        _, errors = program.run("train", config, "--dry-run")
        check(f"{counts[0]} documents in split train, {counts[1]} documents in split valid" in errors, errors)
        runs = program.run("train", config, "--run", "run" + typed[1:])[1]
        check(f"{counts[0]} documents in split train" in runs and metrics(program.path("run" + typed[1:])) == metrics(
            program.path("runn")), runs)
    program.write("one.txt", "abc def " * 40)
    program.run("prepare", "--train", "text.txt", "--valid", "one.txt", "--output", "one")
    _, errors = program.run("train", write_config(program, "one.json", path="one", document_boundary=BOUNDARY), "--run", "one-run")
    check('data.document_boundary: "\\n" divides nothing in split valid, which is read as one document' in errors, errors)


def refuses(program):
    config = write_config(program, "refused.json", document_boundary=BOUNDARY)

    def refused_with(code, says, *settings):
        sets = [word for setting in settings for word in ("--set", setting)]
        refused(program, code, "train", config, "--run", "new", *sets, says=says, leaves_nothing_at="new")

    nowhere = "document_boundary: expected between two documents, found nowhere"
    refused_with(DATA, ['split "train"', nowhere, 'what stands there: "\\n" ('], "data.document_boundary=#")
    refused_with(CONFIG, ["data.document_boundary", "hexadecimal"], r"data.document_boundary=\xy")
    refused_with(CONFIG, ['model.memory.initial: expected "empty" with data.document_boundary, found "zeros"'],
                 "model.memory.initial=zeros")
    program.run("train", config, "--run", "fixed", "--quiet")
    refused(program, CONFIG, "train", "--run", "fixed", "--resume", "--set", "data.document_boundary=",
            says=["cannot resume with data.document_boundary"])
    program.write("task.json", json.dumps({
        "kind": "rewrite", "seed": 3, "vocabulary": 19, "segment": 4, "key_tokens": 1,
        "splits": [{"name": "train", "parts": [{"examples": 40, "length": 16, "items": 3}]}]}))
    program.run("tasks", "task.json", "--output", "task", "--quiet")
    refused_with(DATA, ["split train: data.document_boundary: expected none of a split of examples", 'found "7"'],
                 "data.path=task", 'data.document_boundary="7"', "evaluation.interval=0")


def main():
    program = Program()
    program.prepare_text("text", 2000, seed=1)
    trains_as_it_evaluates(program)
    tells_of_documents(program)
    refuses(program)


main()
