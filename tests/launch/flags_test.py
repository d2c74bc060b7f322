"""Flags come from what options say of themselves: bounds, old names, help, completion, and docs/reference.md."""

import os
import pathlib
import re
import shutil
import subprocess

from program import Program, check, refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE, CONFIG, FILE = 2, 3, 6
COMMANDS = ["prepare", "tasks", "train", "eval", "effective-context", "paired-difference", "generate", "inspect", "import",
            "export", "bench", "report", "compare", "schema", "reference", "completion", "help"]


def test_bounds(program):
    """Words as for the keys of a config, with the name of the flag, before anything is opened."""
    evaluation = ("eval", "--checkpoint", "none", "--data", "none")
    for arguments, says in (
            ((*evaluation, "--mem-len", "8,-3"), '--mem-len: expected an integer >= 0 and <= 1048576, found "-3"'),
            ((*evaluation, "--mem-len", "8,many"), '--mem-len: expected an integer >= 0 and <= 1048576, found "many"'),
            ((*evaluation, "--batch-size", "1.5"), '--batch-size: expected an integer >= 1 and <= 32768, found "1.5"'),
            ((*evaluation, "--threads", "99999999999999999999"), "--threads: expected an integer >= 0 and <= 4096"),
            ((*evaluation, "--memory", "key_values"), "--memory: expected one of as_trained, kv_cache"),
            ((*evaluation, "--recompute=maybe"), '--recompute: expected nothing, true or false, found "maybe"'),
            (("generate", "--checkpoint", "none", "--prompt", "a", "--top-p", 0), "--top-p: expected a number > 0 and <= 1"),
            (("bench", "head", "--cutoffs", "10,0"), '--cutoffs: expected an integer >= 1, found "0"'),
            (("bench", "gemm", "8,8,8", "--copy-bytes", 63), "--copy-bytes: expected an integer >= 64"),
            (("bench", "exchange", "none.json", "--latency", 1), "--link"),
            (("eval", "--checkpoint", "none", "--data", ""), '--data: expected DIR, found ""'),
            (("generate", "--checkpoint", "none", "--prompt", "a", "--json", ""), '--json: expected FILE, found ""'),
            (("train", "none.json", "--run", ""), '--run: expected DIR, found ""'),
            (("report", ""), 'runs: expected DIR, found ""'),
            (("prepare", "--output", "none", "--input", ""), '--input: expected '),
            (("train", "none.json", "--ranks", 2), "--dry-run"),
            (("generate", "--checkpoint", "none", "--score", "a", "--stop", "b"), "--stop and --score: expected one of them"),
            (("inspect", "none.json", "--vocab-size", 1), "--vocab-size: expected an integer >= 2"),
            (("prepare", "--compress", 10, "--output", "none"), '--compress: expected an integer >= 0 and <= 9, found "10"')):
        refused(program, USAGE, *arguments, says=[says])


def test_forgotten_values(program):
    """A flag is no value of the flag before it, and a name that begins with - is written otherwise."""
    for arguments, says in (
            (("train", "s.json", "--set", "--run", "r1"), "train: --set: expected KEY=VALUE after it, found the flag --run"),
            (("train", "s.json", "--set", "--run=r1"), "train: --set: expected KEY=VALUE after it, found the flag --run"),
            (("prepare", "a.txt", "--output", "-x"), "prepare: --output: expected DIR after it, found -x; a name that begins with - is written ./-x"),
            (("prepare", "a.txt", "-o", "-x"), "prepare: -o: expected DIR after it, found -x"),
            (("train", "s.json", "--run", "-q"), "train: --run: expected DIR after it, found the flag -q"),
            (("generate", "run", "--prompt", "--tokens", 5), "generate: --prompt: expected TEXT after it, found the flag --tokens"),
            (("generate", "run", "--prompt", "a", "--json", "-x"), "generate: --json: expected FILE after it, found -x"),
            (("bench", "step", "s.json", "--json", "-x"), "step: --json: expected FILE after it, found -x"),
            (("report", "run", "--output", "--figures", "f"), "report: --output: expected FILE after it, found the flag --figures")):
        refused(program, USAGE, *arguments, says=[says], leaves_nothing_at="-x")
    program.write("-x", "some words of text\n" * 30)
    program.run("prepare", "--train=-x", "--output=-y", "--quiet")
    program.run("prepare", "--train", "./-x", "--output", "./-z", "--quiet")
    check(os.path.isdir(program.path("-y")) and os.path.isdir(program.path("-z")), "names that begin with -")
    refused(program, USAGE, "prepare", "a.txt", "--output=~/made", says=["--output: expected DIR", "~ is not read here: write $HOME/made"])


def test_words_that_belong_nowhere(program):
    program.config("s.json", data={"path": "text"})
    program.config("t.json", data={"path": "text"})
    os.makedirs(program.path("run", "checkpoints"), exist_ok=True)
    program.config("run/config.json", data={"path": "text"})
    for arguments, says in (
            (("train", "s.json", "--set", "data.path=my", "data/out", "put"), "put quotes around a value with spaces, as in: --set 'data.path=my data/out put'"),
            (("train", "s.json", "--set", "model.mem_len", "=", 256), "expected KEY=VALUE without spaces, as in: --set model.mem_len=256"),
            (("train", "s.json", "--set", "model.mem_len=", 256), "expected KEY=VALUE without spaces, as in: --set model.mem_len=256"),
            (("train", "s.json", "t.json"), 'train: expected one config, found "s.json" and "t.json"'),
            (("train", "s.json", "--set", "seed=1", "t.json"), 'train: expected one config, found "s.json" and "t.json"'),
            (("train", "s.json", "--resume", "run"), "train: expected --run before a run, as in: --run run --resume"),
            (("train", "--resume=run"), '--resume: expected nothing, true or false, found "run"; a run is named by --run DIR --resume'),
            (("generate", "--prompt", "x"), "expected --checkpoint, as in: segue generate --prompt x --checkpoint DIR"),
            (("generate", "It was", "--checkpoint", "run"),
             "--checkpoint: expected it once, found 'It was' and run; a text to continue follows --prompt"),
            (("generate", "run", "It", "was", "the", "best", "--tokens", 3),
             "put quotes around a text with spaces, as in: 'It was the best'"),
            (("import", "t.npz"), "import: expected --model, --args, --output, as in: segue import --model t.npz --args FILE --output DIR"),
            (("import", "--from", "hf", "--model", "a", "--args", "b", "--output", "c"), 'found "hf"; did you mean huggingface?'),
            (("import", "--args", "a.json"), "as in: segue import --args a.json --model PATH --output DIR")):
        refused(program, USAGE, *arguments, says=[says])


def test_commands_of_one_process(program):
    """Under mpirun and the like they say so once, on the first rank, and write nothing."""
    program.write("text.txt", "some words of text\n" * 30)
    before = program.environment
    for command in (("prepare", "--train", "text.txt", "--output", "made"), ("report", "run", "--output", "made.html"),
                    ("generate", "run", "--prompt", "a"), ("inspect", "run"), ("tasks", "t.json", "--output", "made"),
                    ("bench", "gemm", "8,8,8"), ("compare", "all.json", "--output", "made")):
        program.environment = dict(before, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
        name = command[1] if command[0] == "bench" else command[0]
        refused(program, USAGE, *command, leaves_nothing_at="made",
                says=[f"{name}: expected one process, found 2 that mpirun started (OMPI_COMM_WORLD_SIZE): leave out mpirun"])
    program.environment["OMPI_COMM_WORLD_RANK"] = "1"
    _, errors = program.run("prepare", "--train", "text.txt", "--output", "made", expect=USAGE)
    check(errors == "" and not os.path.exists(program.path("made")), f"the second of two: {errors}")
    for arguments, code in ((("train", "--bogus"), USAGE), (("train", "none.json", "--extension", "none.so"), FILE)):  # a rank's own error, before its job
        refused(program, code, *arguments, says=["segue: rank 1 of 2: "])
    program.environment = before


def test_wrong_number_of_threads(program):
    """Of OpenMP: what was found and what is taken, once."""
    before = program.environment
    for value in ("two", "0", "-1", "4,x"):
        program.environment = dict(before, OMP_NUM_THREADS=value)
        _, errors = program.run("schema")
        said = [line for line in errors.splitlines() if line.startswith("segue: ")]
        check(said == [f'segue: OMP_NUM_THREADS: expected a number of threads, such as 4, found "{value}"; taken as not set: as many threads as processors'], errors)
        check(errors.count("libgomp") <= 1, errors)
    for value in ("2", " 2 , 1"):
        program.environment = dict(before, OMP_NUM_THREADS=value)
        check(program.run("schema")[1] == "", f"OMP_NUM_THREADS={value}")
    for value in ("4097", "100000", "4,100000", "9" * 30):  # GNU's library crashes of these, or says that it cannot
        program.environment = dict(before, OMP_NUM_THREADS=value)
        refused(program, USAGE, "schema", says=[f'OMP_NUM_THREADS: expected an integer >= 1 and <= 4096, found "{value}"'])
    program.environment = before


def test_old_names(program):
    for arguments, says in (
            (("bench", "head", "--vocab", 50), "head: --vocab: renamed to --vocab-size"),
            (("bench", "step", "run.json", "--vocab=50"), "step: --vocab: renamed to --vocab-size"),
            (("bench", "attention", "--streams", 2), "attention: --streams: renamed to --batch-size"),
            (("eval", "--batch", 2), "eval: --batch: renamed to --batch-size"),
            (("eval", "--document-border", "x"), "eval: --document-border: renamed to --document-boundary"),
            (("report", "run", "--batch", 2), "report: unknown flag --batch")):
        refused(program, USAGE, *arguments, says=[says])
    program.config("old.json", checkpoint="run", data="text", document_border="x")
    refused(program, CONFIG, "eval", "--config", "old.json", says=["old.json: document_border: renamed to document_boundary"])


def test_help(program):
    for command in (["eval"], ["bench"], ["bench", "eval-speed"], ["prepare"]):
        told, _ = program.run("help", *command)
        check(told == program.run(*command, "--help")[0], f"help {command} is not --help:\n{told}")
    check(program.run("help")[0] == program.run("--help")[0], "help is not --help")
    refused(program, USAGE, "help", "bench", "stpe", says=["help: unknown command stpe; did you mean step?"])
    told, _ = program.run("help", "eval")
    for text in ("--mem-len INT ...", "--no-same-length", "{as_trained,kv_cache}", "--set KEY=VALUE ...",
                 "--batch-size INT", "(tokens; >= 0 and <= 1048576)", "Examples:"):
        check(text in " ".join(told.split()), f"help eval does not say {text}:\n{told}")


def test_width_of_help(program):
    """At most 80 columns, and commands that go on behind a backslash are those of the reference."""
    reference, _ = program.run("reference")
    commands = re.findall("^### segue (.*)$", reference, re.MULTILINE)
    check(len(commands) > len(COMMANDS), f"few commands: {commands}")
    for command in ("", *commands):
        told, _ = program.run("help", *command.split())
        wide = [line for line in told.splitlines() if len(line) > 80]
        check(not wide, f"help {command}: wider than 80 columns: {wide}")
        for line in told.replace(" \\\n", " ").splitlines():
            words = line.split("  #")[0].split()
            if command and line.startswith("  ") and words[:1] in (["segue"], ["mpirun"], ["sbatch"], ["zcat"]):
                check(" ".join(words) in " ".join(reference.replace(" \\\n", " ").split()), f"help {command}: no such command in the reference: {line}")


def completed(program, *words):
    """What bash would offer for the last of the words."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _segue; printf "%s\\n" "${COMPREPLY[@]}"'
    process = subprocess.run(["bash", "-u", "-c", script, program.path("segue.bash"), *words], capture_output=True, text=True)
    check(process.returncode == 0 and not process.stderr, f"completion of {words}: {process.stderr}")
    return process.stdout.split()


def test_completion(program):
    program.write("segue.bash", program.run("completion", "bash")[0])
    for words, expected in (
            (("segue", ""), COMMANDS),
            (("segue", "re"), ["report", "reference"]),
            (("segue", "bench", "e"), ["eval", "eval-speed", "exchange"]),
            (("segue", "help", "in"), ["inspect"]),
            (("segue", "completion", ""), ["bash", "zsh"]),
            (("segue", "eval", "--mem"), ["--mem-len", "--memory"]),
            (("segue", "eval", "--no"), ["--no-same-length"]),
            (("segue", "eval", "--memory", ""), ["as_trained", "kv_cache"]),
            (("segue", "eval", "--memory", "=", "k"), ["kv_cache"]),
            (("segue", "bench", "step", "run.json", "--precision", ""), ["fp32", "bf16"]),
            (("segue", "bench", "step", "--vo"), ["--vocab-size"]),
            (("segue", "import", "--from", "hug"), ["huggingface"]),
            (("segue", "train", "run.json", "--set", "model.mem_"), ["model.mem_len="]),
            (("segue", "train", "run.json", "--set", "optimizer.lr"), ["optimizer.lr="]),
            (("segue", "compare", "all.json", "--set", "training.rep"), ["training.report="]),
            (("segue", "inspect", "run.json", "--set", "=", "data.pa"), ["data.path="]),
            (("segue", "bench", "step", "run.json", "--set", "see"), ["seed="]),
            (("segue", "eval", "--set", "optimizer."), []),  # no key of how weights are used
            (("segue", "generate", "--set", "model.position.cl"), ["model.position.clamp_len="]),
            (("segue", "tasks", "recall.json", "--set", "kin"), ["kind="]),
            (("segue", "train", "run.json", "--set", "optimizer.kind", "=", "adam"), ["adam", "adamw"]),
            (("segue", "train", "run.json", "--set", "training.report", "="), ["true", "false"]),
            (("segue", "train", "run.json", "--set", "optimizer.lr", "=", "0"), []),
            (("segue", "prepare", "--train", ""), []),  # files
            (("segue", "train", ""), [])):
        found = completed(program, *words)
        check(found == expected, f"completion of {words}: {found}, expected {expected}")
    program.write("_segue", program.run("completion", "zsh")[0])
    if shutil.which("zsh") is None:
        return print("no zsh: its completion is not checked")
    subprocess.run(["zsh", "-n", program.path("_segue")], check=True)


def test_reference(program):
    printed, _ = program.run("reference")
    check(printed == (ROOT / "docs" / "reference.md").read_text(),
          "flags or keys changed. Run: segue reference > docs/reference.md")
    for line in ("### segue bench eval-speed", "| `-o`, `--output` | DIR | required | Directory of the dataset |", "| `--compress` | LEVEL | `0` | Deflate level; 0: no compression (>= 0 and <= 9) |",
                 "| `--precision` | `fp32`, `bf16` | `fp32` |", "| `model.mem_len` | integer, >= 0, <= 1048576 |"):
        check(line in printed, f"the reference does not say {line}")


def main():
    program = Program()
    for test in (test_bounds, test_forgotten_values, test_words_that_belong_nowhere, test_commands_of_one_process,
                 test_wrong_number_of_threads, test_old_names, test_help, test_width_of_help, test_completion, test_reference):
        test(program)


main()
