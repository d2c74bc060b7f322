"""What a person sees of a run: its first step at once, an evaluation at its end, and a word when it has gone wrong."""

import datetime
import json
import os
import re

from program import TINY_MODEL, Program, check, final_tensors, metrics

program = Program()
program.prepare_text("text", 4000, seed=3)


def config(name, **groups):
    training = {"batch_size": 3, "tgt_len": 16, "max_step": 20, "threads": 1, **groups.pop("training", {})}
    return program.config(name + ".json", **{
        "data": {"path": "text"}, "model": TINY_MODEL, "schedule": {"kind": "constant"}, "training": training,
        "evaluation": {"interval": 15, "batch_size": 2}, **groups})


def train(name, file, *arguments):
    _, errors = program.run("train", file, "--run", name, *arguments)
    return errors


def evaluations(run):
    return [line["step"] for line in metrics(program.path(run)) if "evaluation" in line]


def made_by(path):
    with open(program.path(path)) as file:
        return json.loads(file.read().splitlines()[-1] if path.endswith("l") else file.read())


def test_smoke_run():
    """20 steps of a config whose warm-up is longer, with the interval of the log above them."""
    errors = train("smoke", config("smoke", schedule={"kind": "cosine", "warmup_step": 100}))
    for step in (1, 10, 20):
        check(re.search(rf"step {step}/20  loss .* ETA ", errors), f"no line of step {step}:\n{errors}")
    check("schedule.warmup_step: a warm-up of 100 steps is not over" in errors, errors)
    lines = [line["step"] for line in metrics(program.path("smoke")) if "evaluation" not in line]
    check(lines == [20], f"metrics.jsonl has {lines}")


def test_made_by():
    """The run and its checkpoints say what made them, each process that trained with a line of its own."""
    train("smoke", config("longer", training={"max_step": 25}, schedule={"kind": "cosine", "warmup_step": 100}), "--resume")
    version, _ = program.run("--version")
    made = made_by("smoke/checkpoints/step-00000025/made_by.json")
    check(made["program"] == version.strip() and made["host"] and made["device"] and made["threads"] == 1, made)
    check(made["from_step"] == 20 and made == made_by("smoke/sessions.jsonl"), made)
    with open(program.path("smoke", "sessions.jsonl")) as file:
        check([json.loads(line)["from_step"] for line in file] == [0, 20], "sessions.jsonl")
    text, _ = program.run("inspect", "smoke")
    check("made by" in text and made["host"] in text and made["program"] in text, text)
    program.run("report", "smoke", "--output", "smoke.html")
    with open(program.path("smoke.html"), encoding="utf-8") as file:
        page = file.read()
    check(page.count(made["program"]) == 2 and made["device"] in page, "the page does not say what made the run")


def test_last_evaluation():
    train("short", config("short"))
    check(evaluations("short") == [15, 20], evaluations("short"))
    train("even", config("even", training={"max_step": 30}))
    check(evaluations("even") == [15, 30], evaluations("even"))
    with open(program.path("short", "checkpoints", "step-00000020", "state.json")) as file:
        state = json.load(file)
    lowest = min((line for line in metrics(program.path("short")) if "evaluation" in line), key=lambda line: line["loss"])
    check(state["evaluations"] == 2 and state["best_step"] == lowest["step"], state)
    best = os.readlink(program.path("short", "checkpoints", "best"))
    check(best == f"step-{lowest['step']:08d}", best)


def test_longer_run():
    """What is evaluated where a run ends changes no weight of the same run when it goes on."""
    plateau = {"kind": "plateau", "decay_rate": 0.5, "patience": 0}
    groups = {"schedule": plateau, "optimizer": {"lr": 0.5}}
    whole = config("whole", training={"max_step": 40}, **groups)
    train("whole", whole)
    train("parts", config("parts", training={"max_step": 20}, **groups))
    train("parts", whole, "--resume")
    check(evaluations("parts") == [15, 20, 30, 40], evaluations("parts"))
    check(final_tensors(program.path("whole"), 40)[0] == final_tensors(program.path("parts"), 40)[0], "weights differ")


def test_run_that_is_over():
    """Whoever resumes it with other settings is told that they change nothing, and its config stays that of its weights."""
    train("over", config("over"))
    before = program.path("over", "config.json"), program.path("over", "metrics.jsonl")
    texts = [open(path).read() for path in before]
    errors = train("over", config("over"), "--resume", "--set", "optimizer.lr=0.5", "--set", "training.max_step=19")
    for difference in ("optimizer.lr: 0.00025 -> 0.5", "training.max_step: 20 -> 19"):
        check(f"training has ended at step 20: {difference} changes no weights" in errors, errors)
    check([open(path).read() for path in before] == texts, "the config or the metrics of a run that is over changed")


def test_unknown_words():
    """Bits per byte of a text with unknown words come with a warning; those of a text without any do not."""
    with open(program.path("words.txt"), "w") as file:
        file.write("the cat sat on the mat\nthe dog and the cat ran\n" * 20 + "rare " * 20 + "\n")
    for least, warned in ((1, 0), (21, 1)):
        program.run("prepare", "--tokenizer", "word", "--min-count", least, "--train", "words.txt", "--valid", "words.txt",
                    "--output", f"words-{least}")
        file = config(f"words-{least}", data={"path": f"words-{least}"}, training={"max_step": 1})
        says = f'words-{least}: split "valid": 53.8 % of its tokens are unknown, and the loss does not count what they stand for'
        check(train(f"run-{least}", file).count(says) == warned, f"training on words-{least}")
        _, errors = program.run("eval", "--checkpoint", f"run-{least}", "--data", f"words-{least}", "--split", "valid", "--quiet")
        check(errors.count(says) == warned, f"evaluation on words-{least}: {errors}")


def test_evaluation_of_short_streams():
    """Streams that end before the memory is full are told once, before they are trained towards."""
    memory = {**TINY_MODEL, "mem_len": 500}
    errors = train("never-full", config("never-full", model=memory, training={"max_step": 1}))
    check(errors.count("no more than the memory of 500, which never fills: lower it") == 1, errors)
    errors = train("full", config("full", training={"max_step": 1}))
    check("never full" not in errors, errors)


def test_time_left():
    """Evaluations and saves count as soon as one of them has been seen; before that they are named."""
    errors = train("left", config("left", training={"max_step": 40, "log_interval": 8}, checkpoint={"interval": 12}))
    found = dict(re.findall(r"step (\d+)/40  loss .* ETA (.*)$", errors, re.MULTILINE))
    for step in ("1", "8", "10"):
        check(re.fullmatch(r"[0-9.]+ s \+ 3 evaluations \+ 5 saves", found[step]), f"step {step}: {found}")
    check(all(re.fullmatch(r"[0-9.]+ s", found[step]) for step in ("16", "24", "32", "40")), found)


def test_times_of_day():
    """In UTC as ISO 8601, of every line of the log and of the metrics, whose tokens are those trained on so far."""
    begin = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    program.environment["TZ"] = "Asia/Tokyo"
    errors = train("dated", config("dated"))
    del program.environment["TZ"]
    end = datetime.datetime.now(datetime.timezone.utc)
    lines = [line for line in errors.splitlines() if not line.startswith("segue: ")]
    told = [line.split()[0] for line in lines]
    check(told, f"no line of the log has a date: {errors}")
    with open(program.path("dated", "metrics.jsonl")) as file:
        written = [json.loads(line) for line in file]
    for text in told + [line["time"] for line in written]:
        check(text.endswith("Z") and begin <= datetime.datetime.fromisoformat(text[:-1] + "+00:00") <= end, f"{text} is not from {begin} to {end}")
    check([line["tokens"] for line in written if "evaluation" in line] == [15 * 3 * 16, 20 * 3 * 16], written)
    check(all(("evaluated_tokens" in line) == ("evaluation" in line) for line in written), written)


def test_failed_training():
    """A loss far above guessing is told when it lasts, and at the end; the page tells it too."""
    wild = config("wild", training={"max_step": 150, "log_interval": 5, "report": True}, evaluation={"interval": 0},
                  optimizer={"kind": "adam", "lr": 1000.0})
    errors = train("wild", wild)
    check(errors.count("what a uniform guess costs, 5.545: lower") == 1, errors)
    check(errors.count("training has failed: it ends with a loss of") == 1, errors)
    with open(program.path("wild", "report.html"), encoding="utf-8") as file:
        check("wild has failed: its training loss is" in file.read(), "the page says nothing")
    check("failed" not in train("sound", config("sound", training={"max_step": 100})), "a sound run is told to have failed")


def test_threads():
    """More of them than processors to run on are one warning, whoever asks for them."""
    usable = len(os.sched_getaffinity(0))
    says = f": {usable + 3} threads, but this process may use "
    several = config("several", training={"threads": usable + 3, "max_step": 1})
    errors = train("several", several)
    check(errors.count("training.threads" + says) == errors.count("threads, but") == 1, errors)
    for words in (["eval", "--data", "text"], ["generate", "--prompt", "a", "--tokens", 2]):
        _, errors = program.run(*words, "--checkpoint", "several", "--threads", usable + 3, "--quiet")
        check(errors.count("--threads" + says) == errors.count("threads, but") == 1, f"{words}: {errors}")
        _, errors = program.run(*words, "--checkpoint", "several", "--threads", 1, "--quiet")
        check("threads, but" not in errors, f"{words}: {errors}")
    program.environment["OMP_NUM_THREADS"] = str(usable + 3)
    _, errors = program.run("bench", "gemm", "8,8,8", "--samples", 1, "--warm-up", 0, "--peak-product", 32, "--copy-bytes", 4096)
    check(errors.count("OMP_NUM_THREADS" + says) == 1, errors)
    program.environment["OMP_NUM_THREADS"] = "1"


for test in (test_smoke_run, test_made_by, test_last_evaluation, test_longer_run, test_run_that_is_over,
             test_unknown_words, test_evaluation_of_short_streams, test_time_left, test_times_of_day, test_failed_training, test_threads):
    test()
print("run_log_test: passed")
