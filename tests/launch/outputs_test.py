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


def test_files(program):
    losses = next(name for name in os.listdir(program.path("evaluated")) if name.endswith(".h5"))
    pair = ["paired-difference", f"evaluated/{losses}", f"evaluated/{losses}"]
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
    test_what_is_taken(program)


if __name__ == "__main__":
    main()
