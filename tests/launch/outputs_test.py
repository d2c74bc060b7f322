"""What a command writes goes to no directory of another kind, and replaces no file of another: one line says what is there,
and nothing there has changed."""

import hashlib
import os
import pathlib

from program import TINY_MODEL, Program, check, refused

USAGE, DATA, CHECKPOINT, FILE = 2, 4, 5, 6


def files_of(place):
    """Their contents, by path."""
    place = pathlib.Path(place)
    paths = sorted(place.rglob("*")) if place.is_dir() else [place]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}


def make_world(program):
    program.prepare_text("data", 4000, seed=1)
    program.config("config.json", data={"path": "data"}, model=TINY_MODEL, evaluation={"interval": 0},
                   training={"batch_size": 2, "tgt_len": 16, "max_step": 2})
    program.run("train", "config.json", "--run", "run", "--quiet")
    program.run("eval", "--checkpoint", "run", "--data", "data", "--output", "evaluated", "--per-token", "--quiet")
    program.run("export", "--checkpoint", "run", "--format", "huggingface", "--output", "exported")
    program.run("export", "--checkpoint", "run", "--output", "model.safetensors", "--args", "args.json")
    program.run("import", "--model", "model.safetensors", "--args", "args.json", "--output", "imported")
    program.config("family.json", base="config.json", budget={"amount": 64}, seeds=[1], measure={"max_tokens": 100},
                   variants=[{"name": "a"}, {"name": "b", "set": ["model.mem_len=0"]}])
    program.run("compare", "family.json", "--output", "compared", "--quiet")
    program.config("task.json", kind="recall", seed=1, vocabulary=64,
                   splits=[{"name": "train", "parts": [{"examples": 4, "length": 16, "items": 2}]}])
    os.mkdir(program.path("notes"))
    program.write("notes/thesis.tex", "precious")
    for name in ("story.txt", "story.svg"):
        program.write(name, "Call me Ishmael.\n" * 9)
    os.mkdir(program.path("empty"))


KINDS = {"data": "a dataset", "run": "a run", "run/checkpoints": "checkpoints of a run", "imported": "a checkpoint",
         "evaluated": "an evaluation", "exported": "a model of another program", "compared": "a comparison",
         "notes": "other files, such as thesis.tex"}

# Of each command that fills a directory: its exit code, words before the directory, and the kinds that it may be given.
COMMANDS = {
    "train": (USAGE, ["train", "config.json", "--quiet", "--run"], {"run"}),
    "resume": (USAGE, ["train", "config.json", "--resume", "--quiet", "--run"], {"run"}),
    "dry run": (USAGE, ["train", "config.json", "--dry-run", "--run"], {"run"}),
    "prepare": (DATA, ["prepare", "--input", "data.txt", "--force", "--output"], {"data"}),
    "tasks": (DATA, ["tasks", "task.json", "--force", "--output"], {"data"}),
    "eval": (USAGE, ["eval", "--checkpoint", "run", "--data", "data", "--force", "--output"], {"evaluated"}),
    "compare": (USAGE, ["compare", "family.json", "--output"], {"compared"}),
    "import": (CHECKPOINT, ["import", "--model", "model.safetensors", "--args", "args.json", "--output"], set()),
    "export": (USAGE, ["export", "--checkpoint", "run", "--format", "huggingface", "--output"], set()),
}


def test_directories(program):
    before = files_of(program.directory)
    for name, (code, words, kinds) in COMMANDS.items():
        for directory, what in KINDS.items():
            if directory in kinds:
                continue
            refused(program, code, *words, directory, says=[directory + ":", what])
            check(files_of(program.directory) == before, f"{name} --output {directory}: something has changed")
    refused(program, USAGE, "report", "run", "--output", "page.html", "--figures", "data", says=["data:", "a dataset", "--figures"])


def test_a_run_in_a_dataset_is_not_lost(program):
    """As earlier versions left them."""
    os.symlink(program.path("run", "checkpoints"), program.path("data", "checkpoints"))
    config = pathlib.Path(program.path("data", "config.json"))
    config.write_text("{}")
    refused(program, DATA, "prepare", "--input", "data.txt", "--force", "--output", "data", says=["a run and a dataset"])
    config.unlink()
    os.unlink(program.path("data", "checkpoints"))


def two_evaluations(program):
    """Files of losses, the second a copy of the first."""
    first = next(pathlib.Path(program.path("evaluated")).glob("*.h5"))
    second = pathlib.Path(program.path("again.h5"))
    second.write_bytes(first.read_bytes())
    return first, second


def test_files(program):
    pair = ["paired-difference", *two_evaluations(program)]
    commands = [["report", "run", "--output"], ["export", "--checkpoint", "run", "--output"],
                ["export", "--checkpoint", "run", "--output", "new.safetensors", "--args"], [*pair, "--output"], [*pair, "--csv"],
                ["generate", "--checkpoint", "run", "--prompt", "a", "--json"], ["inspect", "config.json", "--mask"]]
    before = files_of(program.directory)
    for words in commands:
        name = "story.svg" if "--mask" in words else "story.txt"
        refused(program, USAGE, *words, name, says=[name + ": expected ", 'found one that begins "Call me Ishmael.'])
        if name == "story.txt":
            refused(program, FILE, *words, "notes", says=["notes"])
        check(files_of(program.directory) == before, f"{words}: something has changed")
    for words, name in zip(commands, ("page.html", "weights.safetensors", "made.json", "pair.json", "pair.csv", "text.json", "mask.svg")):
        for _ in range(2):  # what a command has written it replaces
            program.run(*words, name)


def test_files_of_segue(program):
    """Another command wrote them, or a person who means to use them again."""
    pair = ["paired-difference", *two_evaluations(program)]
    generate = ["generate", "run", "a", "--json"]
    weights = "run/checkpoints/step-00000002/weights.safetensors"
    program.write("run/begun.json", "")
    program.write("table.csv", "name,price\nbread,3\n")
    program.write("mine.html", "<!DOCTYPE html>\n<p>mine</p>\n")
    export = ["export", "run", "--output", "other.safetensors", "--args"]
    before = files_of(program.directory)
    for words, found in (
            (["export", "run", "--output", weights], "a file of a checkpoint"),
            ([*generate, "data/manifest.json"], "a file of a dataset"),
            ([*generate, "run/config.json"], "a file of a run"),
            ([*generate, "run/checkpoints/step-00000002/state.json"], "a file of a checkpoint"),
            ([*generate, "run/begun.json"], "an empty file in "),
            ([*generate, "config.json"], "a training config"),
            ([*generate, "task.json"], "a task"),
            ([*generate, "pair.json"], "the result of segue paired-difference"),
            ([*pair, "--output", "evaluated/evaluation.json"], "the result of an evaluation"),
            ([*pair, "--output", "text.json"], "the result of segue generate"),
            ([*pair, "--csv", "evaluated/evaluation.csv"], "one that begins"),
            ([*pair, "--csv", "table.csv"], "one that begins"),
            ([*export, "config.json"], "a training config"),
            (["report", "run", "--output", "mine.html"], "one that begins")):
        refused(program, USAGE, *words, says=[f"{words[-2]} {words[-1]}: expected ", " to replace, or no such file; found ", found,
                                              "; name another"])
        check(files_of(program.directory) == before, f"{words}: something has changed")
    os.symlink("text.json", program.path("linked.json"))
    for words, says in (([*pair, "--output", "p", "--csv", "p"], "expected another file than --output p, found the same"),
                        ([*pair, "--output", "./p", "--csv", "p"], "the same"),
                        (["export", "run", "--output", "e", "--args", "e"], "the same"),
                        (["generate", "run", "--score", "text.json", "--json", "text.json"], "those that are read"),
                        (["generate", "run", "--prompt-file", "text.json", "--json", "linked.json"], "those that are read")):
        refused(program, USAGE, *words, says=[says])
    os.unlink(program.path("linked.json"))
    check(files_of(program.directory) == before, "something has changed")


def test_names_of_outputs(program):
    before = sorted(os.listdir(program.directory))
    for words in (["prepare", "data.txt", "-o"], ["tasks", "task.json", "--output"], ["train", "config.json", "--run"],
                  ["eval", "run", "--output"], ["export", "run", "--output"], ["report", "run", "--output"],
                  ["report", "run", "--figures"], ["compare", "family.json", "--output"], ["generate", "run", "a", "--json"],
                  ["inspect", "config.json", "--mask"]):
        for name, says in (("-", "written to a file"), ("~", "write $HOME"), ("~bob/x", "written ./~bob/x"),
                           ("https://x/y", "on this machine"), (" ", "a name is not blank")):
            refused(program, USAGE, *words, name, says=[f'found "{name}"', says])
    check(sorted(os.listdir(program.directory)) == before, "something was written")


def test_what_is_taken(program):
    program.run("prepare", "--input", "data.txt", "--force", "--output", "data")
    program.run("prepare", "--input", "data.txt", "--output", "empty")
    os.mkdir(program.path("logged"))
    program.write("logged/job.log", "of a scheduler")
    for command, directory in (("train", "logged"), ("eval", "evaluated"), ("compare", "compared")):
        program.run(*COMMANDS[command][1], directory)
    check(os.path.exists(program.path("logged", "job.log")), "what lay beside a new run is lost")
    os.mkdir(program.path("none"))
    for command in ("eval", "export"):
        program.run(*COMMANDS[command][1], "none")
        for name in os.listdir(program.path("none")):
            os.unlink(program.path("none", name))


def main():
    program = Program()
    make_world(program)
    test_directories(program)
    test_a_run_in_a_dataset_is_not_lost(program)
    test_files(program)
    test_files_of_segue(program)
    test_names_of_outputs(program)
    test_what_is_taken(program)


if __name__ == "__main__":
    main()
