"""Flags come from what options say of themselves: bounds, old names, help, completion, and docs/reference.md."""

import pathlib
import re
import shutil
import subprocess

from program import Program, check, refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE, CONFIG = 2, 3
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
    for test in (test_bounds, test_old_names, test_help, test_width_of_help, test_completion, test_reference):
        test(program)


main()
