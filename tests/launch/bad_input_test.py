"""Wrong input of every kind: one line that names what and where, an exit code of its own, nothing half written."""

import glob
import gzip
import math
import os
import re
import shutil
import subprocess

from program import TINY_MODEL, Program, check, refused

USAGE, CONFIG, DATA, CHECKPOINT, FILE, DEVICE = 2, 3, 4, 5, 6, 7


def truncate(path, share):
    with open(path, "r+b") as file:
        file.truncate(int(os.path.getsize(path) * share))


def overwrite(path, offset, content):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(content)


def copy(program, name, as_name):
    shutil.rmtree(program.path(as_name), ignore_errors=True)
    shutil.copytree(program.path(name), program.path(as_name), symlinks=True)
    return program.path(as_name)


def config(program, name="run.json", model=None, **training):
    return program.config(
        name, data={"path": "text"}, model=dict(TINY_MODEL, **(model or {})),
        training=dict({"batch_size": 3, "tgt_len": 16, "max_step": 4, "log_interval": 1}, **training),
        evaluation={"interval": 0}, checkpoint={"interval": 2})


def test_prepare(program):
    program.write("empty.txt", b"")
    program.write("odd.bin", b"\1\0\2")
    program.write("large.bin", b"\1\0\7\0")
    refused(program, DATA, "prepare", "--train", "none.txt", "--output", "d1", says=["none.txt"], leaves_nothing_at="d1")
    refused(program, DATA, "prepare", "--train", "empty.txt", "--output", "d1", says=["empty.txt"], leaves_nothing_at="d1")
    for file, says in (("odd.bin", ["odd.bin", "3"]), ("large.bin", ["large.bin", "7", "5"])):
        refused(program, DATA, "prepare", "--format", "uint16", "--vocab-size", 5, "--train", file, "--output", "d1",
                says=says, leaves_nothing_at="d1")
    refused(program, DATA, "prepare", "--train", "text.txt", "--output", "text", says=["text"])


def test_config(program):
    file = config(program)
    for override, says in (
            ("model.mem_length=9", ["model.mem_length", "model.mem_len"]),
            ("model.n_layer=two", ["model.n_layer", "two"]),
            ("model.n_layer=1.5", ["model.n_layer", "1.5"]),
            ("model.dropout=2", ["model.dropout", "2"]),
            ("model.d_model=33", ["model.d_model", "33"])):
        refused(program, CONFIG, "train", file, "--set", override, "--run", "r1", says=says, leaves_nothing_at="r1")
    program.write("broken.json", '{"data": {"path": "text"},')
    refused(program, CONFIG, "train", "broken.json", "--run", "r1", says=["broken.json"], leaves_nothing_at="r1")
    refused(program, FILE, "train", "none.json", "--run", "r1", leaves_nothing_at="r1",
            says=["none.json: there is no such file; the path is seen from " + os.path.realpath(program.directory)])
    refused(program, FILE, "train", "configs/quickstart.json", "--run", "r1", leaves_nothing_at="r1",
            says=["configs/quickstart.json: there is no such file; did you mean ", "/configs/quickstart.json?"])
    program.write("comparison.json", '{"base": "run.json", "variants": [], "budget": {}}')
    refused(program, CONFIG, "train", "comparison.json", "--run", "r1", leaves_nothing_at="r1",
            says=["comparison.json: expected a training config, found a comparison, which segue compare reads"])
    refused(program, DATA, "train", file, "--set", "data.path=none", "--run", "r1", leaves_nothing_at="r1",
            says=["data.path: expected a dataset, found nothing at none"])
    refused(program, CONFIG, "compare", file, "--output", "r1", leaves_nothing_at="r1",
            says=["expected a comparison, found a training config, which segue train reads"])
    refused(program, USAGE, "train", "--run", "r1", leaves_nothing_at="r1")
    refused(program, CONFIG, "train", file, "--set", "optimizer.kind=AdamW", "--run", "r1", says=['did you mean "adamw"?'])
    refused(program, DATA, "train", file, "--set", "data.path=none", "--run", "r1", says=["none"], leaves_nothing_at="r1")
    refused(program, DATA, "train", file, "--set", "training.batch_size=5000", "--run", "r1", says=["5000"])


def test_command_line(program):
    """What was meant, of commands, flags and words alike; flags that are missing by their names."""
    os.makedirs(program.path("empty"), exist_ok=True)
    os.makedirs(program.path("runs", "copy"), exist_ok=True)
    for name in ("config.json", "metrics.jsonl"):
        program.write(os.path.join("runs", "copy", name), "{}")
    program.write("my file", "")
    program.write("book", "It was a bright day.")
    for arguments, says in (
            (("trian", "run.json", "--run", "r1"), "unknown command trian; did you mean train?"),
            (("bench", "stpe"), "bench: unknown command stpe; did you mean step?"),
            (("nothing-like-it",), "unknown command nothing-like-it; expected one of "),
            (("",), 'unknown command ""; expected one of '),
            (("help", "bench", "nothing"), "help: unknown command nothing; expected one of attention"),
            (("bench",), "bench: expected a command, one of attention"),
            (("eval", "--checkpoint"), "--checkpoint: expected DIR after it, found nothing"),
            (("eval", "--checkpoint", "a", "--tgt-len"), "--tgt-len: expected INT after it, found nothing"),
            (("eval", "--checkpoint", "a", "--checkpoint", "b"), "--checkpoint: expected it once, found a and b"),
            (("train", "run.json", "--set"), "--set: expected KEY=VALUE after it, found nothing"),
            (("inspect", "run.json", "--json", "--mask", "a.svg"), "--mask and --json: expected one of them"),
            (("inspect", "run.json", "--products"), "--products: expected --json with it"),
            (("paired-difference",), "paired-difference: expected files, as in"),
            (("train", "--resume", "empty"), "--resume empty: expected a run, found an empty directory"),
            (("train", "--resume", "runs"), "--resume runs: expected a run, found a directory of runs, such as runs/copy"),
            (("inspect", "empty"), "empty: expected a dataset, a run, a checkpoint or a config, found an empty directory"),
            (("inspect", "runs"), "runs: expected a dataset, a run, a checkpoint or a config, found a directory of runs"),
            (("prepare", "--tokenizer", "bpe", "--output", "d1"), "did you mean sentencepiece, with --model FILE"),
            (("eval", "--memlen", 5), "eval: unknown flag --memlen; did you mean --mem-len?"),
            (("eval", "--memlen=5"), "eval: unknown flag --memlen; did you mean --mem-len?"),
            (("generate", "--topp", 5), "generate: unknown flag --topp; did you mean --top-p?"),
            (("train", "run.json", "other.json"), 'train: expected one config, found "run.json" and "other.json"'),
            (("generate", "run", "--prompt", "It", "was", "--tokens", 5),
             """generate: expected no argument "was"; put quotes around a value with spaces, as in: --prompt 'It was'"""),
            (("train", "run.json", "--set", "data.path", "=", "x"), "expected KEY=VALUE without spaces, as in: --set data.path=x"),
            (("train", "run.json", "data.path", "=", "x"), "expected KEY=VALUE without spaces, as in: --set data.path=x"),
            (("effective-context", "runs/copy"), 'effective-context: expected --model, as in: segue effective-context --model'),
            (("inspect", "my", "file"), "did you mean 'my file'?"),
            (("bench", "step", "run.json", "--precision", "fp16"), 'found "fp16"; did you mean bf16?'),
            (("prepare", "--tokenizer", "sentencepeice", "--output", "d1"), "did you mean sentencepiece?"),
            (("prepare", "--format", "UINT16", "--output", "d1"), "did you mean uint16?"),
            (("import", "--from", "hugingface", "--output", "i1"), "did you mean huggingface?"),
            (("eval",), "eval: expected --checkpoint, a run or a checkpoint"),
            (("inspect", "text", "--set", "model.mem_len=3"), "--set: expected a config, found text"),
            (("inspect", "text", "--vocab-size", 9), "--vocab-size: expected a config, found text"),
            (("inspect", "run.json", "--verify"), "--verify: expected a dataset, found run.json")):
        refused(program, USAGE, *arguments, says=[says])
    refused(program, CONFIG, "inspect", "book",
            says=["book: expected a dataset, a run, a checkpoint or a training config, found text, which segue prepare reads"])
    refused(program, CONFIG, "eval", "--checkpoint", "run", "--data", "text", "--stride", 8, says=["--stride: expected none without --recompute"])
    refused(program, FILE, "inspect", "run.json", "--mask", "none/seen.svg", says=["none/seen.svg"])


def test_output(program):
    """What cannot be written is said before there is anything to write."""
    refused(program, FILE, "bench", "attention", "--json", "none/bench.json", says=["none/bench.json"])
    refused(program, FILE, "generate", "--checkpoint", "run", "--prompt", "a", "--json", "none/samples.json", says=["none/samples.json"])
    refused(program, FILE, "report", "run", "--output", "page.html", "--figures", "run.json/figures", says=["run.json/figures"])
    check(not os.path.exists(program.path("page.html")), "a page without its figures")


def test_full_output(program):
    """What is printed to a full disk, in one piece and in pieces that are more than a buffer holds."""
    for arguments in (["--help"], ["inspect", "text"], ["schema"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = subprocess.run([program.binary, *arguments], cwd=program.directory, stdout=full, stderr=subprocess.PIPE,
                                     text=True, check=False)
        check(process.returncode == FILE, f"{arguments} to a full disk: exit {process.returncode}")
        check(process.stderr.endswith("segue: standard output: cannot write all of it\n"), f"{arguments}: {process.stderr}")


def test_device(program):
    file = config(program)
    for override, code, says in (
            ("training.device=cuda:99", DEVICE, ["training.device cuda:99: "]),
            ("training.device=gpu", CONFIG, ["training.device", '"cuda:N"', '"gpu"']),
            ("training.device=cuda:x", CONFIG, ["training.device", '"cuda:x"']),
            ("training.precision=fp16", CONFIG, ["training.precision", '"bf16"', '"fp16"'])):
        refused(program, code, "train", file, "--set", override, "--run", "d1", says=says, leaves_nothing_at="d1")


def test_dataset(program):
    file = config(program)
    shard = next(name for name in os.listdir(program.path("text")) if name.startswith("train"))

    def damaged(change, says):
        change(copy(program, "text", "damaged"))
        refused(program, DATA, "train", file, "--set", "data.path=damaged", "--run", "r2", says=says)
        shutil.rmtree(program.path("r2"), ignore_errors=True)

    damaged(lambda d: os.remove(os.path.join(d, shard)), [shard])
    damaged(lambda d: truncate(os.path.join(d, shard), 0.5), [shard])
    damaged(lambda d: truncate(os.path.join(d, "manifest.json"), 0.5), ["manifest.json"])
    damaged(lambda d: os.remove(os.path.join(d, "manifest.json")), ["damaged"])
    damaged(lambda d: overwrite(os.path.join(d, shard), os.path.getsize(os.path.join(d, shard)) // 2, b"damage"), [shard])


def test_checkpoint(program):
    file = config(program)
    program.run("train", file, "--run", "run")
    newest = os.path.join("checkpoints", "step-00000004")
    evaluation = ("eval", "--data", "text", "--batch-size", 2, "--checkpoint")
    program.run(*evaluation, "run")

    def damaged(name, change):
        directory = copy(program, "run", "hurt")
        change(os.path.join(directory, newest, name))
        refused(program, CHECKPOINT, *evaluation, os.path.join("hurt", newest), says=[name, "step-00000002"])
        _, errors = program.run(*evaluation, "hurt")
        check("step-00000004" in errors, f"damage to {name} passed in silence")
        _, errors = program.run("train", file, "--run", "hurt", "--resume")
        check("resumed from" in errors and "at step 2" in errors, f"did not resume from the checkpoint before: {errors}")

    for name in ("weights.safetensors", "optimizer.safetensors", "memory-00000.safetensors", "state.json"):
        damaged(name, lambda path: truncate(path, 0.7))
        damaged(name, lambda path: overwrite(path, os.path.getsize(path) // 2, b"\x55"))
        damaged(name, os.remove)
    directory = copy(program, "run", "lost")
    for name in os.listdir(os.path.join(directory, "checkpoints")):
        if name.startswith("step-"):
            truncate(os.path.join(directory, "checkpoints", name, "weights.safetensors"), 0.7)
    refused(program, CHECKPOINT, "train", file, "--run", "lost", "--resume", says=["no checkpoint of its 2 is intact", "--run"])
    check(sorted(os.listdir(directory)) == sorted(os.listdir(program.path("run"))), "resumed from nothing, and wrote")

    refused(program, USAGE, "train", file, "--run", "run", says=["--resume"])
    refused(program, CONFIG, "train", file, "--set", "model.n_layer=3", "--run", "run", "--resume", says=["model.n_layer: 2 -> 3"])
    refused(program, CHECKPOINT, "eval", "--checkpoint", "rum", "--data", "text",
            says=["rum: expected a run or a checkpoint, found nothing there; did you mean run?"])
    refused(program, CHECKPOINT, "generate", "--checkpoint", "another", "--prompt", "a", says=["found nothing there; beside it: hurt, lost, run"])
    refused(program, CHECKPOINT, "eval", "--checkpoint", "nowhere/run", "--data", "text", says=["nowhere/run: expected a run or a checkpoint, found nothing there"])
    refused(program, DATA, "eval", "--checkpoint", "run", "--data", "text", "--split", "other", says=["other"])
    program.prepare_tokens("tokens", 9, train=[1, 2, 3] * 30)
    refused(program, DATA, "eval", "--checkpoint", "run", "--data", "tokens", "--split", "train", says=["tokens", "ready-made"])
    program.write("hostile.safetensors", b"\xff" * 8 + b"{}")
    program.write("args.json", "{}")
    refused(program, CONFIG, "import", "--model", "hostile.safetensors", "--args", "args.json", "--output", "i1",
            leaves_nothing_at="i1")


def test_newer_formats(program):
    """What a newer program wrote is not called damaged."""
    program.run("train", config(program), "--run", "newer", "--quiet")
    for manifest in (*glob.glob(program.path("newer", "checkpoints", "step-*", "manifest.json")), os.path.join(copy(program, "text", "newer-text"), "manifest.json")):
        with open(manifest) as file:
            content = file.read()
        with open(manifest, "w") as file:
            file.write(content.replace('"version": 1', '"version": 9, "another": 3', 1))
    says = "expected version 1 of the format, found 9: a newer Segue wrote it; use that one"
    refused(program, CHECKPOINT, "eval", "newer", says=["manifest.json: " + says])
    refused(program, CHECKPOINT, "train", "--run", "newer", "--resume", says=["a newer Segue has saved its checkpoints: resume it with that one"])
    refused(program, DATA, "train", config(program), "--set", "data.path=newer-text", "--run", "r3", says=["newer-text/manifest.json: " + says])


def test_places_of_outputs(program):
    """The path that was typed and what stands in its way, instead of files in the making."""
    file = config(program)
    program.write("note.txt", "mine")
    os.makedirs(program.path("my data"), exist_ok=True)
    program.write("my data/notes.txt", "mine")
    for place, says in (("note.txt", "--run note.txt: expected a directory, found a file; name another"),
                        ("note.txt/x", "--run note.txt/x: expected a directory at note.txt, found a file; name another"),
                        ("my data", "my data: exists and is not a run: it holds other files, such as notes.txt; name another --run")):
        refused(program, USAGE, "train", file, "--run", place, says=[says])
        refused(program, USAGE, "train", file, "--run", place, "--dry-run", says=[says])
    check(os.listdir(program.path("my data")) == ["notes.txt"], "a run among the files of others")
    refused(program, USAGE, "prepare", "text.txt", "--output", "note.txt/x", says=["--output note.txt/x: expected a directory at note.txt"])
    refused(program, USAGE, "prepare", "text.txt", "--output", "note.txt", says=["--output note.txt: expected a directory, found a file"])
    os.makedirs(program.path("logged"), exist_ok=True)
    program.write("logged/train.log", "what a shell writes there")
    program.write("logged/tee.txt", "")
    program.run("train", file, "--run", "logged", "--quiet")
    for command in (("report", "logged", "--output", "nodir/x"), ("generate", "logged", "--prompt", "a", "--json", "nodir/x"),
                    ("export", "logged", "--output", "nodir/x"), ("inspect", file, "--mask", "nodir/x.svg")):
        refused(program, FILE, *command, leaves_nothing_at="nodir",
                says=["nodir/x", ": cannot write there: nodir does not exist; make that directory, or name another file"])
    refused(program, FILE, "report", "logged", "--output", "note.txt/x", says=["note.txt/x: cannot write there: note.txt is no directory"])


def test_configs_of_other_programs(program):
    program.write("hf.json", '{"architectures": ["TransfoXLLMHeadModel"], "model_type": "transfo-xl", "n_layer": 2}')
    program.write("words.txt", "Once upon a time there was a text")
    refused(program, USAGE, "import", "--model", "words.txt", "--args", "hf.json", "--output", "i2", leaves_nothing_at="i2",
            says=["--args hf.json: expected the arguments of transformer-xl, found the config of a model of Hugging Face's", "give --from huggingface"])
    program.write("theirs.json", '{"n_token": 9, "n_layer": 1, "n_head": 1, "d_model": 8, "d_head": 8, "d_inner": 8, "tgt_len": 4, "mem_len": 4}')
    refused(program, CHECKPOINT, "import", "--model", "words.txt", "--args", "theirs.json", "--output", "i2", leaves_nothing_at="i2",
            says=["words.txt: expected a safetensors file, found text"])
    refused(program, USAGE, "import", "--model", "newer", "--args", "theirs.json", "--output", "i2", says=["found a run", "it needs no import"])


def test_warnings_come_after_errors(program):
    file = config(program, model={"mem_len": 8})
    program.run("train", file, "--run", "warned", "--quiet")
    program.run("prepare", "--tokenizer", "word", "--train", "text.txt", "--valid", "text.txt", "--output", "worded")
    _, errors = program.run("train", file, "--run", "warned", "--resume", "--set", "data.path=worded", expect=DATA)
    check(" W " not in errors, errors)


def test_position_table(program):
    file = config(program, "shaw.json", model={"position": {"kind": "shaw"}}, max_step=1)
    program.run("train", file, "--run", "shaw")
    evaluation = ("eval", "--checkpoint", "shaw", "--data", "text", "--batch-size", 2)
    refused(program, CONFIG, *evaluation, "--mem-len", 25,
            says=["max_positions", "41", "tgt_len = 16", "mem_len = 25", "clamp_len from 1 to 39", "found 40"])
    program.run(*evaluation, "--mem-len", 25, "--clamp-len", 39)
    refused(program, CONFIG, "export", "--checkpoint", "shaw", "--output", "shaw-exported", says=["position.kind", "shaw"],
            leaves_nothing_at="shaw-exported")


def test_launchers(program):
    """Processes that a launcher has started and MPI does not find are no job: said once, before anything is written."""
    command = [program.binary, "train", config(program), "--run", "lonely"]

    def launched(**variables):
        done = subprocess.run([*command, *variables.pop("more", [])], cwd=program.directory, capture_output=True, text=True,
                              env=dict(program.environment, **{name: str(value) for name, value in variables.items()}))
        return done.returncode, done.stderr

    code, errors = launched(SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=0, SLURM_NTASKS=4)
    check(code == USAGE and len(errors.splitlines()) == 1, errors)
    for says in ("srun started 4 processes (SLURM_STEP_NUM_TASKS), and MPI finds each of them alone", "env -u SLURM_STEP_NUM_TASKS"):
        check(says in errors, errors)
    check(launched(SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=3) == (USAGE, ""), "another than the first speaks")
    check(not os.path.exists(program.path("lonely")), "a run was begun")
    for variables in ({"SLURM_NTASKS": 4, "SLURM_PROCID": 0}, {"SLURM_STEP_NUM_TASKS": 1, "SLURM_PROCID": 0},
                      {"SLURM_STEP_NUM_TASKS": 4, "SLURM_PROCID": 0, "SLURM_PTY_PORT": 1}):
        code, errors = launched(**variables, more=["--dry-run"])
        check(code == 0, f"{variables}: {errors}")


def test_resuming_with_other_keys(program):
    """Tokens are the same in other shards; the learning rate is told where keys move it, and a run of other tokens refused."""
    file = config(program)
    schedule = ["--set", "schedule.kind=cosine", "--set", "optimizer.lr=0.01"]
    program.run("prepare", "--input", "text.txt", "--split", "0.8,0.1,0.1", "--output", "shards")
    program.run("train", file, *schedule, "--set", "data.path=shards", "--run", "shards-run", "--quiet")
    program.run("prepare", "--input", "text.txt", "--split", "0.8,0.1,0.1", "--shard-tokens", 1000, "--output", "shards", "--force")
    resumed = ["train", file, *schedule, "--set", "data.path=shards", "--run", "shards-run", "--resume", "--quiet"]
    _, errors = program.run(*resumed, "--set", "training.max_step=8")
    (found,) = re.findall(r"learning rate: (\S+) at step 4, (\S+) at step 5; without these changes it would be (\S+)\n", errors)
    expected = [0.01 * (1 + math.cos(math.pi * share)) / 2 for share in (3 / 4, 4 / 8, 4 / 4)]
    check(all(math.isclose(float(a), b, rel_tol=1e-3, abs_tol=1e-12) for a, b in zip(found, expected)), f"{found}, expected {expected}")
    check("schedule.eta_min" not in errors, errors)
    _, errors = program.run("train", file, "--set", "schedule.kind=constant", "--set", "schedule.eta_min=1e-5", "--dry-run")
    check('schedule.eta_min: 1e-05 changes nothing with schedule.kind = "constant"' in errors, errors)
    _, errors = program.run(*resumed, "--set", "training.max_step=8", "--set", "training.log_interval=2")
    check("learning rate" not in errors and "training.log_interval" in errors, errors)
    program.write("other.txt", "other text " * 600)
    program.run("prepare", "--input", "other.txt", "--split", "0.8,0.1,0.1", "--output", "shards", "--force")
    refused(program, CHECKPOINT, *resumed, says=["expected the tokens that it was trained on, tokens:xxh3:", "found tokens:xxh3:", " in shards; name the dataset of then with --set data.path=DIR"])


def test_tokenizers(program):
    program.write("vocab.json", '{"hello": 0, "world": 1}')
    program.write("half.json", '{"hello": "world"}')
    for name, code, says in (
            ("run", DATA, ["run: expected a tokenizer.json", "found a run", "name Hugging Face's tokenizer.json"]),
            ("text", DATA, ["text: expected a tokenizer.json", "found a dataset", "name Hugging Face's tokenizer.json"]),
            ("run/checkpoints/step-00000004/tokenizer.json", DATA, ["found what a checkpoint of Segue keeps of its tokenizer"]),
            ("vocab.json", DATA, ["vocab.json: expected Hugging Face's tokenizer.json, found words and their numbers alone"]),
            ("half.json", DATA, ["found JSON without a model; name the tokenizer.json"]),
            ("tiktoken", USAGE, ["--tokenizer tiktoken: expected its file in place of this word"]),
            ("nosuch.json", USAGE, ["--tokenizer nosuch.json: expected a file, or one of ", "there is no such file"])):
        refused(program, code, "prepare", "text.txt", "-o", "unmade", "--tokenizer", name, says=says, leaves_nothing_at="unmade")


def test_paths_in_a_run(program):
    """The run around them is what is meant."""
    last, file = "run/checkpoints/step-00000004", config(program)
    refused(program, USAGE, "train", last, "--run", "new", says=[f"{last}: expected a config file, found a checkpoint",
                                                                 "segue train --run run --resume"])
    for path, found in ((last, "a checkpoint"), ("run/checkpoints", "checkpoints of a run"),
                        ("run/config.json", "a file of a run")):
        refused(program, USAGE, "train", "--resume", path, says=[f"--resume {path}: expected a run, found {found}",
                                                                 "did you mean --resume run?"])
        if path != "run/config.json":
            refused(program, USAGE, "train", file, "--run", path, says=[f"{path}: expected a directory for a run", "did you mean run?"])
    copy(program, "run", "bare")
    shutil.rmtree(program.path("bare", "checkpoints"))
    for command in (("generate", "bare", "a"), ("eval", "bare")):
        refused(program, CHECKPOINT, *command, says=["bare: expected a run with a checkpoint, found one that has saved none yet"])
    long = "x" * 300
    os.symlink("loop", program.path("loop"))
    for name, reason in ((long, "File name too long"), ("loop", "Too many levels of symbolic links")):
        for command, code in ((("train", file, "--run", name), FILE), (("prepare", "text.txt", "-o", name), FILE)):
            refused(program, code, *command, says=[name, reason])


def test_files_of_other_commands(program):
    """What another command reads is called by its name, with the command."""
    training = config(program)
    task = program.config("task.json", kind="recall", vocabulary=64, splits=[])
    comparison = program.config("comparison.json", base="run.json", variants=[], budget={})
    settings = program.config("settings.json", checkpoint="run", mem_len=[0])
    os.makedirs(program.path("theirs"), exist_ok=True)
    theirs = program.config("theirs/config.json", architectures=["GPT2LMHeadModel"], model_type="gpt2", n_layer=12)
    names = {training: "a training config, which segue train reads", task: "a task, which segue tasks reads",
             comparison: "a comparison, which segue compare reads",
             settings: "settings of an evaluation, which segue eval --config reads",
             theirs: "the config of a model of Hugging Face's transformers"}
    readers = {training: ("train", "--run", "new"), task: ("tasks", "--print", 1), comparison: ("compare",),
               settings: ("eval", "--checkpoint", "run", "--config")}
    for own, command in readers.items():
        for file, name in names.items():
            if file != own:
                expected = names[own].split(",")[0]
                refused(program, CONFIG, *command, file, says=[f"{file}: expected {expected}, found {name}"])
        refused(program, DATA, "report", own, says=[f"{own}: expected the directory of a run, found {names[own]}"])
        refused(program, CHECKPOINT, "generate", "--checkpoint", own, "--prompt", "a",
                says=[f"{own}: expected a run's directory, its checkpoints, or one checkpoint, found {names[own]}"])
    for command in (("report",), ("generate", "--prompt", "a", "--checkpoint"), ("eval", "--checkpoint")):
        code = DATA if command == ("report",) else CHECKPOINT
        refused(program, code, *command, "text", says=["text: expected", "found a dataset, which"])
    refused(program, CHECKPOINT, "generate", "--checkpoint", "theirs", "--prompt", "a", says=[names[theirs]])
    others = {"book.txt": "text, which segue prepare reads", "some.h5": "an HDF5 file; it is cut off: 8 bytes of at least ", "cut.h5": "an HDF5 file; it is cut off: 99 bytes of ",
              "cut.safetensors": "weights of a checkpoint, without the rest of it; it is cut off: ",
              "seen.png": "a picture", "wide.json": "UTF-16 text: iconv -f UTF-16 -t UTF-8", "wide_le.json": "UTF-16 text: iconv -f UTF-16LE",
              "noted.json": "JSON that begins with a comment, which JSON does not have: leave it out",
              "packed.json": "a file compressed by gzip: decompress it first", "empty.json": "an empty file",
              "none": "an empty directory", "bytes": "a file of another format"}
    for name, content in (("book.txt", b"Once upon a time"), ("some.h5", b"\x89HDF\r\n\x1a\n"), ("empty.json", b""), ("noted.json", b'// mine\n{"model": {"n_layer": 1}}\n'), ("bytes", bytes(range(99))), ("seen.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
                          ("wide.json", '{"model": {}}'.encode("utf-16")), ("wide_le.json", '{"model": {}}'.encode("utf-16-le")),
                          ("packed.json", gzip.compress(b"{}"))):
        program.write(name, content)
    os.makedirs(program.path("none"), exist_ok=True)
    shutil.copy(program.path("text", "test-00000.h5"), program.path("cut.h5"))
    os.truncate(program.path("cut.h5"), 99)
    shutil.copy(glob.glob(program.path("run", "checkpoints", "step-*", "weights.safetensors"))[0], program.path("cut.safetensors"))
    os.truncate(program.path("cut.safetensors"), os.path.getsize(program.path("cut.safetensors")) - 1)
    refused(program, DATA, "paired-difference", "absent.h5", "absent.h5",
            says=["absent.h5: the file is missing; segue eval --per-token writes it"])
    for other, found in others.items():
        for own, command in readers.items():
            refused(program, CONFIG, *command, other, says=[f"{other}: expected {names[own].split(',')[0]}, found {found}"])
        refused(program, DATA, "report", other, says=[f"{other}: expected the directory of a run, found {found}"])
        refused(program, CHECKPOINT, "generate", "--checkpoint", other, "--prompt", "a", says=[f"one checkpoint, found {found}"])
        if other != "none":
            refused(program, CONFIG, "inspect", other,
                    says=[f"{other}: expected a dataset, a run, a checkpoint or a training config, found {found}"])
        if not other.endswith(".h5"):
            refused(program, DATA, "paired-difference", other, other,
                    says=[f"{other}: expected losses, as segue eval --per-token writes them, found {found}"])
    program.run("train", training, "--run", "held/one", "--set", "training.max_step=2", "--quiet")
    os.makedirs(program.path("datasets"), exist_ok=True)
    copy(program, "text", "datasets/a")
    for command in (("train", training, "--run", "new", "--set", "data.path=datasets"), ("eval", "held/one", "--data", "datasets")):
        refused(program, DATA, *command, says=["a directory of datasets: datasets/a"])
    refused(program, DATA, "train", training, "--run", "new", "--set", "data.path=~/a", says=["~ is not read here: write $HOME/a"])
    for directory, found in (("held/one", "a run"), ("text", "a dataset, which segue train"),
                             ("held/one/checkpoints/step-00000002", "a checkpoint")):
        refused(program, DATA, "prepare", directory, "--output", "d1", says=[f"{directory}: expected a regular file, found {found}"])
    os.makedirs(program.path("stated"), exist_ok=True)
    program.write("stated/state.json", "{}")
    refused(program, DATA, "prepare", "stated", "--output", "d1", says=["stated: expected a file, found a directory of other files"])
    refused(program, DATA, "prepare", "text/test-00000.h5", "--output", "d1",
            says=["expected text or tokens, found a file of a dataset, whose directory is text"])
    refused(program, DATA, "generate", "held/one", "--score", "text/test-00000.h5",
            says=["expected text, found a file of a dataset, whose directory is text; segue train (data.path) and segue eval (--data) read that"])
    refused(program, DATA, "prepare", "--input", "none", "--output", "d1",
            says=["none: expected a file, found an empty directory; name files of text"])
    refused(program, DATA, "train", config(program), "--set", "data.path=none", "--run", "new",
            says=["none: not a dataset: manifest.json is missing; found an empty directory"])
    refused(program, CONFIG, "report", "theirs", says=["theirs/config.json: expected a training config", names[theirs]])
    program.run("train", training, "--run", "begun", "--set", "training.max_step=2", "--quiet")
    refused(program, DATA, "report", "begun/checkpoints/step-00000002", says=["found a checkpoint"])


def main():
    program = Program()
    program.prepare_text("text", 4000, seed=2)
    for test in (test_prepare, test_config, test_command_line, test_full_output, test_device, test_dataset, test_checkpoint,
                 test_newer_formats, test_places_of_outputs, test_configs_of_other_programs, test_warnings_come_after_errors,
                 test_output, test_position_table, test_launchers, test_resuming_with_other_keys, test_tokenizers,
                 test_paths_in_a_run, test_files_of_other_commands):
        test(program)


main()
