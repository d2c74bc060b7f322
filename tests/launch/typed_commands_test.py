"""What people type: understood where it can only mean one thing, otherwise answered with what to type instead."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

from program import TINY_MODEL, Program, TooLate, check, metrics, refused, until_in_time

USAGE, CONFIG, DATA, CHECKPOINT, FILE, INTERRUPTED = 2, 3, 4, 5, 6, 75


def config(program, name="run.json", path="text", **groups):
    groups = {"training": {"batch_size": 3, "tgt_len": 16, "max_step": 4, "log_interval": 1},
              "evaluation": {"interval": 0},
              "checkpoint": {"interval": 2}, **groups}
    return program.config(name, data={"path": path}, model=TINY_MODEL, **groups)


def test_words_without_flags(program):
    """FILE of prepare, RUN of eval, generate, export and --resume, the prompt, and the run of a report."""
    program.run("prepare", "text.txt", "--split", "0.8,0.1,0.1", "--output", "unnamed")
    splits = [json.load(open(program.path(name, "manifest.json")))["splits"] for name in ("text", "unnamed")]
    check(splits[0] == splits[1], "prepare FILE is not prepare --input FILE")
    for arguments in (("eval", "run", "--data", "text", "--batch-size", 2), ("generate", "run", "ab", "--tokens", 2),
                      ("export", "run", "--output", "exported.safetensors"), ("train", "--resume", "run", "--quiet")):
        program.run(*arguments)
    os.rename(program.path("run"), program.path("only"))
    refused(program, USAGE, "report", says=["report: expected runs, as in: segue report runs/book; found none in runs"])
    os.mkdir(program.path("runs"))
    os.rename(program.path("only"), program.path("runs", "a b"))
    program.run("report", "--output", "page.html")
    shutil.copytree(program.path("runs", "a b"), program.path("runs", "c"), symlinks=True)
    refused(program, USAGE, "report", says=["expected the runs to show, of these: segue report 'runs/a b' runs/c"])
    os.rename(program.path("runs", "a b"), program.path("run"))


def test_answers(program):
    for arguments, says in (
            (("train", "run"),
             "run: expected a config file, found a run; continue it with: segue train --run run --resume"),
            (("train", "--config", "run.json"),
             "train: unknown flag --config; give it without a flag, as in: segue train FILE"),
            (("train", "run.json", "--lr", 0.1),
             "unknown flag --lr; it is a key of the config: --set optimizer.lr=VALUE"),
            (("train", "run.json", "--learning-rate=1"), "it is a key of the config: --set optimizer.lr=VALUE"),
            (("train", "run.json", "--epochs=1"), "--set training.max_step=VALUE, which counts steps"),
            (("train", "run.json", "--output-dir", "r1"), "unknown flag --output-dir; did you mean --run?"),
            (("train", "run.json", "--frobnicate"), "train: unknown flag --frobnicate; see --help"),
            (("--quiet", "train", "run.json"),
             "train: --quiet: expected after the command, as in: segue train --quiet"),
            (("train", "--set", "seed=1", "model.mem_len=2", "run.json"),
             "train: model.mem_len=2: expected --set before each KEY=VALUE, as in: --set model.mem_len=2"),
            (("train", "--set", "seed=1", "seed=2"), "train: seed=2: expected --set before each KEY=VALUE"),
            (("evaluate", "run"), "unknown command evaluate; did you mean eval?"),
            (("plot", "run"), "unknown command plot; did you mean report?"),
            (("frob",), "unknown command frob; expected one of prepare"),
            (("eval", "--block-size", 3), "eval: unknown flag --block-size; did you mean --tgt-len?"),
            (("eval", "--model", "run"), "eval: unknown flag --model; did you mean --checkpoint?"),
            (("generate", "run", "--max-new-tokens", 3),
             "generate: unknown flag --max-new-tokens; did you mean --tokens?"),
            (("generate", "run"), "as in: segue generate run --prompt 'It was'"),
            (("prepare", "a b.txt"), "prepare: expected --output, as in: segue prepare 'a b.txt' --output DIR"),
            (("prepare", "--split", "0.9,0.1", "text.txt", "--output", "none"),
             "put a file without a flag before a list of numbers"),
            (("inspect",), "inspect: expected a path, as in: segue inspect PATH"),
            (("prepare", "text.txt", "--min-count", 3, "--output", "none"),
             "--min-count: expected --tokenizer word, found byte"),
            (("prepare", "text.txt", "--train", "text.txt", "--output", "none"),
             "--input and --train: expected either files to cut"),
            (("prepare", "--output", "none"), "as in: segue prepare book.txt --output data/book")):
        refused(program, USAGE, *arguments, says=[says])
    for command in ("prepare", "tasks", "train", "eval", "generate", "compare", "inspect"):
        check("-q,--quiet" in program.run(command, "--help")[0], f"{command} has no -q")


def test_overrides(program):
    """A broken rule blames the override that breaks it, and says what to do about stages."""
    file = config(program, "staged.json", training={"batch_size": 3, "tgt_len": 16, "max_step": 400, "stages": [
        {"until_step": 300, "tgt_len": 16, "mem_len": 0}]})
    refused(program, CONFIG, "train", file, "--set", "seed=3", "--set", "training.max_step=200", "--run", "r1",
            leaves_nothing_at="r1",
            says=[f"{file} with --set training.max_step=200: training.stages[0].until_step", "training.stages=[]"])
    for cure in ("training.stages=[]", "training.stages[0].until_step=100"):
        program.run("train", file, "--set", "training.max_step=200", "--set", cure, "--run", "r1", "--dry-run")
    refused(program, CONFIG, "train", file, "--set", "training.stages.mem_len=3",
            says=["as in training.stages[0].mem_len"])
    refused(program, CONFIG, "train", file, "--set", "learning_rate=3", says=["did you mean optimizer.lr?"])


def test_a_run_finds_its_dataset(program):
    """When it is resumed elsewhere; and says where it was when that has moved, too."""
    program.run("train", config(program, "here.json"), "--run", "here", "--quiet")
    elsewhere = program.path("elsewhere")
    os.mkdir(elsewhere)
    resume = [program.binary, "train", "--resume", "../here", "--set", "training.max_step=6"]

    def resumed():
        return subprocess.run(resume, cwd=elsewhere, env=program.environment, capture_output=True, text=True,
                              check=False)

    os.rename(program.path("text"), program.path("moved"))
    found = resumed()
    check(found.returncode == DATA and "where ../here last had it" in found.stderr, found.stderr)
    check("--set data.path=DIR" in found.stderr, found.stderr)
    os.rename(program.path("moved"), program.path("text"))
    found = resumed()
    check(found.returncode == 0 and 'data.path: "text" -> ' in found.stderr, found.stderr)
    check(f"--data {os.path.realpath(program.path('text'))} --split test" in found.stderr, found.stderr)
    os.rename(program.path("text"), program.path("moved"))
    resume[-1:] = ["training.max_step=8", "--set", "data.path=../moved"]
    check(resumed().returncode == 0, "not with --set data.path")
    refused(program, DATA, "train", program.path("run.json"), "--run", "r2", leaves_nothing_at="r2",
            says=["found nothing at text; beside it: moved", "; --set data.path=DIR names one"])
    os.rename(program.path("moved"), program.path("text"))


def test_the_last_line_can_be_pasted(program):
    """With spaces in paths, and of a dataset without a test split."""
    program.run("prepare", "--train", "text.txt", "--valid", "text.txt", "--output", "two splits")
    _, errors = program.run("train", config(program, "two.json", "two splits"), "--run", "my run")
    line = errors.split("evaluate it with: ")[1].splitlines()[0]
    check(line == "segue eval --checkpoint 'my run' --data 'two splits' --split valid", line)
    subprocess.run(line.replace("segue", program.binary, 1), shell=True, cwd=program.directory,
                   env=program.environment, check=True,
                   capture_output=True)


def test_best_is_told(program):
    """Where the newest checkpoint is taken and another one evaluated best."""
    file = config(program, "best.json", evaluation={"interval": 2, "batch_size": 2}, optimizer={"lr": 0.01})
    program.run("train", file, "--run", "best", "--set", "schedule.kind=constant")
    os.remove(program.path("best", "checkpoints", "best"))
    os.symlink("step-00000002", program.path("best", "checkpoints", "best"))
    words = "of step 4; the one with the best evaluation, of step 2, is best/checkpoints/best"
    for arguments in (("eval", "best", "--data", "text"), ("generate", "best", "ab", "--tokens", 1),
                      ("export", "best", "--output", "exported.safetensors")):
        _, errors = program.run(*arguments)
        check(words in errors, f"{arguments}: {errors}")
    _, errors = program.run("eval", "best/checkpoints/best", "--data", "text")
    check("the best evaluation" not in errors, errors)
    os.remove(program.path("best", "checkpoints", "best"))
    program.write("best/checkpoints/best", "step-00000002")  # as an archive without links has it
    words = "best/checkpoints/best: expected a link to the best checkpoint, found a file"
    refused(program, CHECKPOINT, "eval", "best/checkpoints/best", "--data", "text",
            says=[words, "name the checkpoint itself, such as best/checkpoints/step-00000004"])
    for arguments in (("eval", "best", "--data", "text"), ("train", file, "--run", "best", "--resume")):
        _, errors = program.run(*arguments)
        check(errors.count(words) == 1, f"{arguments}: {errors}")
    program.run("report", "best", "--output", "best.html")
    with open(program.path("best.html")) as page:
        check("eval-test" in page.read(), "evaluations of a copy without links")


def test_a_run_without_a_checkpoint_leaves_its_name(program):
    """One that fails before the first save; a run with a checkpoint keeps its name."""
    file = config(program, "failing.json")
    program.run("train", file, "--run", "name", "--set", "model.init.init_std=1e25", expect=10)
    check(len(metrics(program.path("name"))) < 4, "nothing failed")
    _, errors = program.run("train", file, "--run", "name")
    check("name: replaces a run that ended before its first checkpoint" in errors, errors)
    with open(program.path("name", "sessions.jsonl")) as sessions:
        check(len(sessions.readlines()) == 1, "a session of the run before")
    check([line["step"] for line in metrics(program.path("name"))] == [1, 2, 3, 4], "metrics of the run before")
    refused(program, USAGE, "train", file, "--run", "name",
            says=["name: a run is there already; continue it with --resume"])


def test_a_run_without_a_step_leaves_nothing(program):
    """One that fails as it begins, and one that is asked to stop as early; what lay in its directory before stays."""
    file = config(program, "unborn.json")
    words = [program.binary, "train", file, "--run"]

    def fail(name):
        """Its config is longer than a file may be."""
        limit = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)))
        failed = subprocess.run([*words, name], cwd=program.directory, env=program.environment, capture_output=True, text=True,
                                preexec_fn=limit)
        check(failed.returncode == FILE and "config.json" in failed.stderr, f"exit {failed.returncode}: {failed.stderr}")

    fail("unborn")
    check(not os.path.exists(program.path("unborn")), f"left: {os.listdir(program.directory)}")
    os.mkdir(program.path("thesis"))
    program.write("thesis/notes.log", "precious")
    fail("thesis")
    check(os.path.exists(program.path("thesis", "notes.log")), "what lay beside a new run is lost")

    def stop():
        process = program.start("train", file, "--run", "stopped")
        while not os.path.exists(program.path("stopped", "lock")):
            check(process.poll() is None, "over before the signal")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        if "stopped before the first step" not in errors:
            raise TooLate
        check(process.returncode == INTERRUPTED and "nothing is left in stopped, so give the same command again" in errors, errors)
        check(not os.path.exists(program.path("stopped")), "left by one that was stopped")

    until_in_time(program, "stopped", stop)
    _, errors = program.run("train", file, "--run", "stopped")
    check("replaces" not in errors, errors)


def test_interrupts_leave_nothing(program):
    """Of prepare, tasks and eval, whose output would be a directory."""
    task = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs", "tasks", "recall.json")
    program.run("train", config(program, "plain.json"), "--run", "plain", "--quiet")
    commands = {
        "prepared": ("prepare", "--train", "endless.txt", "--as-is", "--output", "prepared"),
        "tasks": ("tasks", task, "--output", "tasks"),
        "evaluated": ("eval", "plain", "--data", "text", "--recompute", "--tgt-len", 1000, "--output", "evaluated",
                      "--per-token")}
    with open(program.path("endless.txt"), "wb") as file:
        file.truncate(1 << 34)  # zeros that take no room on the disk, and longer than any wait to read
    for name, arguments in commands.items():
        for number in (signal.SIGINT, signal.SIGTERM):
            process = program.start(*arguments)
            while not os.path.isdir(program.path(name + ".partial")):
                check(process.poll() is None, f"{arguments}: over before the signal, with {process.returncode}")
                time.sleep(0.002)
            process.send_signal(number)
            _, errors = process.communicate()
            check(process.returncode == -number, f"{arguments}: exit {process.returncode}: {errors}")
            check(errors.endswith(f"segue: interrupted; nothing was written to {name}\n"), errors)
            check(not [left for left in os.listdir(program.directory) if left.startswith(name)],
                  f"{arguments}: left something")


def test_an_interrupt_is_answered(program):
    """Also where nothing is being written; and a step's line comes once, whatever is interrupted."""
    process = program.start("bench", "attention", "--sample-seconds", 60)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    check(process.returncode == -signal.SIGINT and errors.endswith("segue: interrupted; nothing was measured to the end\n"), errors)
    _, errors = program.run("train", config(program, "one.json"), "--set", "training.max_step=1", "--run", "one")
    check(errors.count("step 1/1 ") == 1, errors)


def main():
    program = Program()
    program.prepare_text("text", 12000, seed=5)
    program.run("train", config(program), "--run", "run", "--quiet")
    for test in (test_words_without_flags, test_answers, test_overrides, test_a_run_finds_its_dataset,
                 test_the_last_line_can_be_pasted, test_best_is_told,
                 test_a_run_without_a_checkpoint_leaves_its_name, test_a_run_without_a_step_leaves_nothing, test_interrupts_leave_nothing,
                 test_an_interrupt_is_answered):
        test(program)


main()
