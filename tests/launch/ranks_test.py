"""Training and evaluation on several ranks: the curve, the checkpoints and the losses that one rank would give, and an
end with the culprit's name when a rank is killed, stopped, or differs from the others."""

import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "peers"))
from flops import training_flops_per_token  # noqa: E402
from job import Job, check_close, half_written, losses, newest_step, require, wait_for_a_save, wait_for_steps  # noqa: E402
from program import MASKED, TINY_MODEL, check, check_same_run, is_exact_by_row, metrics, read_evaluation  # noqa: E402
from report_test import read_page  # noqa: E402
from sizes import Sizes  # noqa: E402

STEPS = 50
TIMEOUT_S = 3  # that ranks wait for one another
KILLS = 20


def evaluations(run):
    return [line["loss"] for line in metrics(run) if "evaluation" in line]


def relative(a, b):
    return abs(a - b) / abs(b)


def check_rates(job, run):
    """What a step computes, on all ranks, as the peers count it."""
    with open(os.path.join(run, "metrics.jsonl")) as file:
        steps = [step for step in map(json.loads, file) if "tokens_per_second" in step]
    with open(job.path("text/manifest.json")) as file:
        sizes = Sizes(vocab_size=json.load(file)["tokenizer"]["vocabulary"], **TINY_MODEL)
    expected = training_flops_per_token(sizes, tgt_len=16, batch=5)
    for step in steps:
        found = step["model_flops_per_second"] / step["tokens_per_second"]
        check(math.isclose(found, expected), f"{run}: {found} FLOPs for a token, expected {expected}")
        check(0 < step["mfu"] <= 1, f"{run}: {step}")


def test_same_curve_on_any_number_of_ranks(job):
    alone = job.train(1, "alone")
    check_rates(job, alone)
    for ranks in (2, 3, 4):
        run = job.train(ranks, f"on{ranks}")
        check(relative(losses(run)[0], losses(alone)[0]) <= 1e-6, f"{ranks} ranks: the first loss differs")
        check_close(losses(run), losses(alone), 1e-4, f"{ranks} ranks")
        check_close(evaluations(run), evaluations(alone), 1e-4, f"{ranks} ranks, evaluated")
        check_rates(job, run)
        check_same_run(run, job.train(ranks, f"again{ranks}"), STEPS, f"{ranks} ranks twice")


def test_resumes_on_another_number_of_ranks(job):
    stages = ("--set", 'training.stages=[{"until_step": 15, "tgt_len": 7, "mem_len": 5}]', "--set",
              r'data.document_boundary="\n"')
    whole = losses(job.train(4, "whole", *stages))
    job.train(4, "saved", "--set", "training.max_step=20", *stages)
    for ranks in (4, 3, 2, 1):
        shutil.copytree(job.path("saved"), job.path(f"to{ranks}"), symlinks=True)
        run = job.train(ranks, f"to{ranks}", "--resume", *stages)
        found = losses(run)
        check(found[:20] == whole[:20], f"4 to {ranks} ranks: the log before the save changed")
        check(relative(found[20], whole[20]) <= 1e-5, f"4 to {ranks} ranks: first loss {found[20]}, not {whole[20]}")
        check_close(found, whole, 1e-4, f"4 to {ranks} ranks")
        check(ranks != 4 or found == whole, "4 to 4 ranks: not the same to the bit")


def check_sharded(job, kind, *options):
    options = ("--set", f"optimizer.kind={kind}", *options)
    shard = (*options, "--set", "optimizer.shard=true")
    whole = losses(job.train(3, f"{kind}-whole", *options))
    sharded = job.train(3, f"{kind}-sharded", *shard)
    check_close(losses(sharded), whole, 1e-6, f"{kind}, sharded")
    check_same_run(sharded, job.train(3, f"{kind}-again", *shard), STEPS, f"{kind}, sharded twice")
    job.train(3, f"{kind}-saved", "--set", "training.max_step=20", *shard)
    for ranks, resumed in ((3, shard), (4, shard), (2, (*options, "--set", "optimizer.shard=false"))):
        shutil.copytree(job.path(f"{kind}-saved"), job.path(f"{kind}-to{ranks}"), symlinks=True)
        found = losses(job.train(ranks, f"{kind}-to{ranks}", "--resume", *resumed))
        check_close(found, losses(sharded), 0.0 if ranks == 3 else 1e-4, f"{kind}, 3 sharded to {ranks} ranks")


def test_a_sharded_optimizer_gives_the_same(job):
    check_sharded(job, "adam")
    check_sharded(job, "lamb", "--set", "optimizer.lr=0.01")


def rates(run):
    return [line["learning_rate"] for line in metrics(run) if "evaluation" not in line]


def test_all_ranks_follow_the_same_plateau(job):
    plateau = ("--set", "schedule.kind=plateau", "--set", "evaluation.interval=5", "--set", "optimizer.lr=0.1")
    alone = job.train(1, "plateau-alone", *plateau)
    check(rates(alone)[-1] < rates(alone)[0], "plateau: the rate never fell")
    run = job.train(3, "plateau", *plateau)
    check(rates(run) == rates(alone), "plateau, 3 ranks: other learning rates")
    check_same_run(run, job.train(3, "plateau-again", *plateau), STEPS, "plateau twice")


def check_evaluation(job, limit, *options, model="model"):
    """`limit` is relative; below single precision's, also the files must be the same."""
    results, rows = [], []
    for ranks in (1, 2, 3):
        name = f"{model}-result{ranks}"
        job.run_ranks(ranks, "eval", "--checkpoint", model, "--data", "text", "--batch-size", 5, "--threads", 1,
                      "--output", name, "--force", "--per-token", "--quiet", *options)
        results.append(read_evaluation(job.path(name))["results"][0])
        with open(job.path(name, results[-1]["per_token"]), "rb") as file:
            rows.append(file.read())
    for ranks, result in enumerate(results, start=1):
        check(result["tokens"] == results[0]["tokens"], f"{ranks} ranks score {result['tokens']} tokens")
        check(relative(result["loss"], results[0]["loss"]) <= limit, f"{ranks} ranks: loss {result['loss']}")
    check(limit > 1e-7 or rows[1] == rows[0] and rows[2] == rows[0], "the per-token files differ")


def test_evaluation_does_not_depend_on_ranks(job):
    job.train(1, "model")
    limit = 1e-12 if is_exact_by_row() else 1e-6
    check_evaluation(job, limit)
    check_evaluation(job, limit, "--warm-up", "auto")
    check_evaluation(job, 1e-6, "--document-boundary", "\n")
    check_evaluation(job, 1e-6, "--recompute", "--stride", 4)  # so few rows are multiplied in another order


def test_masked_models_ask_for_the_same_tokens_on_any_number_of_ranks(job):
    masked = [word for axis, kind in MASKED.items() for word in ("--set", f"model.{axis}={json.dumps(kind)}")]
    masked += ["--set", r'data.document_boundary="\n"']
    alone = job.train(1, "masked", *masked)
    run = job.train(3, "masked-on3", *masked)
    check(relative(losses(run)[0], losses(alone)[0]) <= 1e-6, "3 ranks, masked: the first loss differs")
    check_close(losses(run), losses(alone), 1e-4, "3 ranks, masked")
    check_close(evaluations(run), evaluations(alone), 1e-4, "3 ranks, masked, evaluated")
    check_evaluation(job, 1e-6, "--warm-up", "auto", model="masked")
    check_evaluation(job, 1e-6, "--document-boundary", "\n", model="masked")


def test_kept_keys_and_values_are_the_same_however_streams_are_spread(job):
    kept = ("--set", "model.memory.kind=keys_values", "--set", "model.position.kind=rope", "--set",
            'training.stages=[{"until_step": 15, "tgt_len": 7, "mem_len": 5}]')
    alone = job.train(1, "kept", *kept)
    for name, ranks, *more in (("kept-on3", 3), ("kept-in4", 1, "--set", "training.batch_chunk=4")):
        run = job.train(ranks, name, *kept, *more)
        check(relative(losses(run)[0], losses(alone)[0]) <= 1e-6, f"{name}: the first loss differs")
        check_close(losses(run), losses(alone), 1e-4, name)
        check_close(evaluations(run), evaluations(alone), 1e-4, f"{name}, evaluated")
    check_evaluation(job, 1e-6, "--warm-up", "auto", "--memory", "as_trained", model="kept")


def ranks_of(process):
    """Process ids of mpirun's children that are the program."""
    listed = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "pid=,comm="], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if line.split()[1].startswith("segue")]


def wait_for_ranks(process, ranks):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = ranks_of(process)
        if len(found) == ranks:
            return found
        time.sleep(0.02)
    sys.exit("failed: the ranks did not start")


def kill_a_rank(job, source, options, when_it_saves):
    """Lets the run go on for a moment, kills one of its ranks, and waits for the others to give up. Returns whether a
    save was under way."""
    checkpoints = job.path("disturbed", "checkpoints")
    started = time.time()
    process = job.start_ranks(3, "train", "config.json", "--run", "disturbed", "--quiet", "--resume", *options)
    victims = wait_for_ranks(process, 3)
    wait_for_steps(job, "disturbed", started)
    time.sleep(source.uniform(0.0, 0.5))
    if when_it_saves:
        wait_for_a_save(process, checkpoints)
    check(process.poll() is None, "the run ended before a rank was killed")
    began = time.monotonic()
    os.kill(source.choice(victims), signal.SIGKILL)
    process.communicate(timeout=30)
    check(time.monotonic() - began < 30 and process.returncode != 0, "the job outlived its rank")
    return half_written(checkpoints)


def test_killed_ranks_end_the_job_and_lose_nothing(job):
    """Every step is saved, and every second kill comes when a save begins. The end is that of an undisturbed run."""
    options = ["--set", "checkpoint.interval=1", "--set", "checkpoint.keep_last=2",
               "--set", "training.max_step=100000"]
    source = random.Random(20)
    inside = sum(kill_a_rank(job, source, options, when_it_saves=kill % 2 == 1) for kill in range(KILLS))
    steps = newest_step(job.path("disturbed")) + 5
    options[-1] = f"training.max_step={steps}"
    job.train(3, "disturbed", "--resume", *options)
    check_same_run(job.train(3, "undisturbed", *options), job.path("disturbed"), steps, "killed and resumed")
    print(f"{KILLS} kills, {inside} inside a save, {steps} steps")
    check(inside > 0, "no kill fell inside a save")


def test_a_silent_rank_is_named(job):
    process = job.start_ranks(3, "train", "config.json", "--run", "silent", "--quiet", "--set", "training.max_step=1000000",
                              "--set", f"training.peer_timeout={TIMEOUT_S}")
    victims = wait_for_ranks(process, 3)
    wait_for_steps(job, "silent")
    os.kill(max(victims), signal.SIGSTOP)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    check(time.monotonic() - began < 30, "the others waited for too long")
    lines = [line for line in errors.splitlines() if line.startswith("segue:")]
    check(process.returncode == 8, f"exit {process.returncode}, expected 8: {errors}")
    check(len(lines) == 1 and "did not come within 3 s" in lines[0] and "rank " in lines[0] and "step " in lines[0],
          f"expected one line that names the rank: {errors}")


def test_a_rank_that_does_not_start_is_missed(job):
    arguments = ["train", "config.json", "--run", "unstarted", "--quiet", "--set", f"training.peer_timeout={TIMEOUT_S}"]
    command = ["mpirun", "-np", "2", job.binary, *arguments, ":", "-np", "1", "sh", "-c", "kill -STOP $$; exec $0 $*",
               job.binary, *arguments]
    began = time.monotonic()
    done = subprocess.run(command, cwd=job.directory, env=job.environment, capture_output=True, text=True, timeout=60)
    check(time.monotonic() - began < 30, "the others waited for too long")
    lines = [line for line in done.stderr.splitlines() if line.startswith("segue:")]
    check(done.returncode == 8, f"exit {done.returncode}, expected 8: {done.stderr}")
    check(len(lines) == 1 and "rank 0 on " in lines[0] and "not all ranks came within 3 s" in lines[0],
          f"expected one line of the first rank: {done.stderr}")


def stop_with(job, number, choose):
    """Sends the signal to the process that `choose` picks of mpirun and its ranks; all ranks save the same step."""
    run = f"stopped-by-{number}"
    process = job.start_ranks(2, "train", "config.json", "--run", run, "--quiet", "--resume", "--set",
                              "training.max_step=1000000")
    started = time.time()
    victims = wait_for_ranks(process, 2)
    wait_for_steps(job, run, started)
    os.kill(choose(process.pid, victims), number)
    _, errors = process.communicate(timeout=60)
    check(process.returncode == 75, f"signal {number}: exit {process.returncode}, expected 75: {errors}")
    check(errors.count("stopped and saved") == 1, f"signal {number}: expected one line for all ranks: {errors}")
    job.run_ranks(2, "train", "--run", run, "--resume", "--quiet", "--set", "training.max_step=1")


def test_a_signal_to_one_rank_saves_all(job):
    source = random.Random(3)
    for number in (signal.SIGTERM, signal.SIGUSR1):
        stop_with(job, number, lambda launcher, ranks: source.choice(ranks))
    stop_with(job, signal.SIGUSR1, lambda launcher, ranks: launcher)


def test_refuses_at_the_start(job):
    for command in (("train", "config.json", "--run", "few"), ("bench", "exchange", "config.json", "--device", "cpu")):
        _, errors = job.run_ranks(3, *command, "--set", "training.batch_size=2", expect=3)
        check("training.batch_size: expected at least 3 streams" in errors, errors)
    command = ["mpirun", "-np", "1", job.binary, "train", "config.json", "--run", "unequal", "--quiet", ":", "-np", "1",
               job.binary, "train", "config.json", "--run", "unequal", "--quiet", "--set", "seed=7"]
    done = subprocess.run(command, cwd=job.directory, env=job.environment, capture_output=True, text=True, timeout=60)
    check(done.returncode == 3 and "another config than rank 0: seed" in done.stderr, done.stderr)


def test_refuses_other_tokens(job):
    job.prepare_text("others", 20000, 2)
    os.mkdir(job.path("elsewhere"))
    job.write("elsewhere/config.json", open(job.path("config.json")).read())
    shutil.copytree(job.path("others"), job.path("elsewhere", "text"))
    train = [job.binary, "train", "config.json", "--run", job.path("other-tokens"), "--quiet"]
    command = ["mpirun", "-np", "1", "-wdir", job.directory, *train, ":", "-np", "1", "-wdir", job.path("elsewhere"), *train]
    done = subprocess.run(command, env=job.environment, capture_output=True, text=True, timeout=60)
    check(done.returncode == 4 and "rank 1 has other tokens than rank 0 in text, split train" in done.stderr, done.stderr)
    check(not os.path.exists(job.path("other-tokens", "metrics.jsonl")), "something was written")


def test_the_first_rank_draws_the_report(job):
    """The second rank runs in a place of its own, which shares text and checkpoints: were it to draw, a page would be
    there or, since it has no config there, a warning that it cannot."""
    elsewhere = job.path("apart")
    os.makedirs(os.path.join(elsewhere, "drawn"))
    for name in ("config.json", "text", "drawn/checkpoints"):
        os.symlink(job.path(name), os.path.join(elsewhere, name))
    train = [job.binary, "train", "config.json", "--run", "drawn", "--quiet", "--set", "training.report=true"]
    command = ["mpirun", "-np", "1", "-wdir", job.directory, *train, ":", "-np", "1", "-wdir", elsewhere, *train]
    done = subprocess.run(command, env=job.environment, capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and "no report" not in done.stderr, f"exit {done.returncode}: {done.stderr}")
    found = [os.path.join(directory, name) for directory, _, names in os.walk(job.directory) for name in names
             if "report.html" in name]
    check(found == [job.path("drawn", "report.html")], f"pages: {found}")
    page, _, drawings = read_page(found[0])
    best = min(line["bits_per_byte"] for line in metrics(job.path("drawn")) if "evaluation" in line)
    check(page.refresh is None and drawings, "the page is not that of a run that is over")
    for said in (f"step {STEPS} of {STEPS}", "best loss on valid", f"{best:.3f}"):
        check(said in page.text, f"the page does not say {said!r}")


def test_dry_run_says_what_training_holds(job):
    before = sorted(os.listdir(job.directory))
    planned, _ = job.run_ranks(3, "train", "config.json", "--dry-run")
    supposed, _ = job.run("train", "config.json", "--dry-run", "--ranks", 3)
    check(sorted(os.listdir(job.directory)) == before, "a dry run wrote something")
    rows = [[line.split() for line in text.splitlines() if line.startswith(tuple(f"   {rank} " for rank in range(3)))]
            for text in (planned, supposed)]
    check([row[-13:] for row in rows[0]] == [row[-13:] for row in rows[1]], f"{planned}\n{supposed}")
    check([row[-13] for row in rows[0]] == ["0-1", "2-3", "4"], planned)
    check(re.search(r"Each rank sends .* a step, in \d+ buckets of about 0\.02 MiB\.", planned), planned)
    late, _ = job.run("train", "config.json", "--dry-run", "--ranks", 3, "--set", "training.bucket_mb=0")
    check(" a step, in one bucket." in late, late)
    _, errors = job.run_ranks(3, "train", "config.json", "--run", "held", "--set", "training.max_step=1", "--set",
                              "evaluation.interval=0")
    total = " ".join(rows[0][0][-2:])
    check(f"memory {total} on cpu" in errors, f"{total} is not in {errors}")


def test_spans_are_penalised_once(job):
    """Whatever the ranks, the parts of a batch and the shards: with a penalty beside which nothing else counts, a step of
    plain descent takes the learning rate times the penalty's slope from every share."""
    spans = ("--set", "model.position.kind=none", "--set", "optimizer.kind=sgd", "--set", "optimizer.clip=0", "--set",
             "optimizer.lr=1e-4", "--set", "training.max_step=4", "--set", "evaluation.interval=0", "--set",
             'model.visibility={"kind": "adaptive", "span": 16, "ramp": 4, "initial": 0.75, "penalty": 20}')
    runs = [job.train(ranks, f"spans{number}", *spans, *more) for number, (ranks, more) in enumerate((
        (1, ()), (1, ("--set", "training.batch_chunk=5")), (3, ()), (3, ("--set", "optimizer.shard=true"))))]
    heads = TINY_MODEL["n_head"]
    for run in runs:
        lines = [line for line in metrics(run) if "spans" in line]
        check(len(lines) == 4, f"{run}: {lines}")
        for line in lines:
            expected = 0.75 * 16 - line["step"] * 1e-4 * 20 * 16 * 16 / heads
            check(all(abs(span - expected) < 1e-3 for layer in line["spans"] for span in layer), f"{expected} {line}")
            check(math.isclose(line["span_penalty"], 20 * sum(line["mean_spans"]), rel_tol=1e-6), f"{line}")
        check_close(losses(run), losses(runs[0]), 1e-5, run)
    output, _ = job.run("inspect", "spans0")
    expected = 0.75 * 16 - 4 * 1e-4 * 20 * 16 * 16 / heads
    check(f"{'spans of heads, layer 1':<38} {expected:.1f}, {expected:.1f} tokens" in output, output)
    again = job.train(3, "spans-again", *spans)
    check_same_run(runs[2], again, 4, "spans on 3 ranks twice")


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 20000, 1)
    job.write_config(training={"max_step": STEPS, "bucket_mb": 0.02},  # several buckets
                     evaluation={"interval": 20, "batch_size": 4}, checkpoint={"interval": 20})
    test_same_curve_on_any_number_of_ranks(job)
    test_resumes_on_another_number_of_ranks(job)
    test_a_sharded_optimizer_gives_the_same(job)
    test_spans_are_penalised_once(job)
    test_all_ranks_follow_the_same_plateau(job)
    test_evaluation_does_not_depend_on_ranks(job)
    test_masked_models_ask_for_the_same_tokens_on_any_number_of_ranks(job)
    test_kept_keys_and_values_are_the_same_however_streams_are_spread(job)
    test_refuses_at_the_start(job)
    test_refuses_other_tokens(job)
    test_the_first_rank_draws_the_report(job)
    test_dry_run_says_what_training_holds(job)
    test_a_rank_that_does_not_start_is_missed(job)
    test_a_silent_rank_is_named(job)
    test_a_signal_to_one_rank_saves_all(job)
    test_killed_ranks_end_the_job_and_lose_nothing(job)


if __name__ == "__main__":
    main()
