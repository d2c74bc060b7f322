"""Training and evaluation on data that say what is scored and where examples begin.

A task of pairs by segments, of which only the last segment of an example has an answer: the others are read, and change no
weight. Losses and right answers do not depend on ranks, a run resumes in the middle of an example to the bit, and what the
evaluation tells is what its per-token file holds.
"""

import json
import math
import os
import shutil
import struct
import subprocess

from job import Job, check_close, losses, require
from program import TINY_MODEL, check, check_same_run, final_tensors, metrics, read_evaluation, refused

STEPS = 26
SEGMENT = 4  # tokens; an example has three pairs and the query, a segment each
SPEC = {
    "kind": "rewrite", "seed": 3, "vocabulary": 19, "segment": SEGMENT, "key_tokens": 1,
    "splits": [
        {"name": "train", "parts": [{"examples": 40, "length": 4 * SEGMENT, "items": 3}]},
        {"name": "valid", "parts": [{"examples": 10, "length": 4 * SEGMENT, "items": 3}]},
        {"name": "test", "parts": [{"examples": 80, "length": 2 * SEGMENT, "items": 1},
                                   {"examples": 90, "length": 4 * SEGMENT, "items": 3}]}]}


def write_world(job):
    job.write("spec.json", json.dumps(SPEC))
    job.run("tasks", "spec.json", "--output", "task", "--quiet")
    job.write_config(data={"path": "task"}, optimizer={"lr": 0.005},
                     training={"batch_size": 5, "batch_chunk": 2, "tgt_len": SEGMENT, "max_step": STEPS},
                     evaluation={"interval": 10, "batch_size": 3}, checkpoint={"interval": 1, "keep_last": STEPS})


def check_segments_without_an_answer(job):
    run = job.train(1, "whole")
    trained = [line for line in metrics(run) if "evaluation" not in line]
    answered = [step for step in range(1, STEPS + 1) if step % 4 == 0]  # of four segments the last, epochs after 32
    check([line["step"] for line in trained] == answered, f"steps with a loss: {[line['step'] for line in trained]}")
    check(all(0 <= line["accuracy"] <= 1 for line in trained), f"accuracy of {trained}")
    evaluated = [line for line in metrics(run) if "evaluation" in line]
    check([line["evaluated_tokens"] for line in evaluated] == [10, 10, 10], f"targets of the validation: {evaluated}")
    weights = [final_tensors(run, step)[0]["weights.safetensors"] for step in range(1, 9)]
    check(weights[0] == weights[2] != weights[3] == weights[6] != weights[7], f"weights after steps 1 to 8: {weights}")
    states = [final_tensors(run, step)[1] for step in (3, 4)]
    check([state["optimizer_step"] for state in states] == [0, 1], f"states after steps 3 and 4: {states}")


def check_resumes(job):
    """Stopped after the second segment of an example."""
    job.train(1, "parted", "--set", "training.max_step=14")
    job.train(1, "parted", "--resume")
    check_same_run(job.path("whole"), job.path("parted"), STEPS, "stopped within an example", ended_at=14)


def check_ranks(job):
    for ranks in (2, 3):
        found = losses(job.train(ranks, f"on{ranks}"))
        check_close(found, losses(job.path("whole")), 1e-5, f"{ranks} ranks")
        accuracy = [[line["accuracy"] for line in metrics(job.path(run)) if "accuracy" in line]
                    for run in ("whole", f"on{ranks}")]
        check(accuracy[0] == accuracy[1], f"accuracy on one and on {ranks} ranks: {accuracy}")


def row_of(job, file, name, code):
    raw = job.path(name + ".raw")
    subprocess.run(["h5dump", "-d", name, "-b", "LE", "-o", raw, job.path(file)], check=True, capture_output=True)
    with open(raw, "rb") as data:
        return [value for (value,) in struct.iter_unpack("<" + code, data.read())]


def check_evaluation(job):
    results = []
    for ranks in (1, 3):
        job.run_ranks(ranks, "eval", "--checkpoint", "whole", "--data", "task", "--mem-len", "12,0", "--batch-size", 7,
                      "--per-token", "--output", f"evaluated{ranks}", "--quiet")
        results.append(read_evaluation(job.path(f"evaluated{ranks}"))["results"])
    for alone, shared in zip(*results):
        check(alone["answers"] == shared["answers"], f"answers on 1 and 3 ranks: {alone['answers']}, {shared['answers']}")
        file = os.path.join("evaluated1", alone["per_token"])
        right, nll = row_of(job, file, "right", "f"), row_of(job, file, "nll", "f")
        check(len(right) == 80 * 9 + 90 * 17, f"{len(right)} tokens")
        scored = [i for i, loss in enumerate(nll) if not math.isnan(loss)]
        check(scored == [i for i, value in enumerate(right) if not math.isnan(value)], "an answer for every loss")
        check(len(scored) == 170 == alone["tokens"] == alone["answers"]["answers"], f"{len(scored)} answers")
        check(abs(sum(nll[i] for i in scored) / 170 - alone["loss"]) < 1e-6, "the mean loss")
        check(abs(sum(right[i] for i in scored) / 170 - alone["answers"]["accuracy"]) < 1e-9, "the share of right answers")
        runs = alone["answers"]["by_examples"]
        check([(run["answers"], run["tokens"], run["traits"]) for run in runs] == [(80, 9, {"items": 1}), (90, 17, {"items": 3})],
              f"runs of examples: {runs}")
        check(abs(sum(right[i] for i in scored if i < 80 * 9) / 80 - runs[0]["accuracy"]) < 1e-9, "of the first run")
        distances = alone["answers"]["by_distance"]
        check(sum(bin["answers"] for bin in distances) == 170, f"by distance: {distances}")
        # Without memory, what stands in an earlier segment is as good as not there.
    check(results[0][0]["loss"] != results[0][1]["loss"], "memory changes the losses")


def prepare_marked(job, name, **splits):
    """A dataset of one text a split, of which the given positions of 100 are scored."""
    for split, scored in splits.items():
        job.write(f"{name}-{split}.bin", struct.pack("<100H", *(i % 7 for i in range(100))))
        job.write(f"{name}-{split}.bin.marks", bytes(i in scored for i in range(100)))
    files = [word for split in splits for word in (f"--{split}", f"{name}-{split}.bin")]
    job.run("prepare", *files, "--format", "uint16", "--vocab-size", 7, "--marks", "--output", name)


def check_refuses_what_teaches_nothing(job):
    """Before a step is made, in a dry run too. Two streams of 50 tokens: the first of each is no target."""
    says = "expected a scored target among those that training learns from, found none"
    settings = ("--set", "training.batch_size=2", "--set", "evaluation.batch_size=1")
    train = ("train", "config.json", "--run", "refused", *settings)
    for name, scored, part in (("zeros", (), ()), ("firsts", (0, 50), ()),
                               ("early", (1, 51), ("--set", "training.loss_part=half"))):
        prepare_marked(job, name, train=scored, valid=(3,))
        for more in ((), ("--dry-run",)):
            refused(job, 4, *train, *part, "--set", f"data.path={name}", *more,
                    says=[f'{name}: split "train"', says], leaves_nothing_at="refused")
    job.run("train", "config.json", "--run", "learns", *settings, "--set", "data.path=early", "--set", "training.max_step=2")
    prepare_marked(job, "unseen", train=(1,), valid=(0, 90))
    refused(job, 4, *train, "--set", "data.path=unseen", "--set", "evaluation.max_tokens=20", leaves_nothing_at="refused",
            says=['unseen: split "valid"', "expected a scored target among those evaluated, found none"])
    refused(job, 3, *train, "--set", "schedule.rule=tensorflow", "--set", "schedule.warmup_step=1", "--set",
            "training.max_step=1", says=["schedule: expected a learning rate above 0 at some step"])


def check_refusals(job):
    evaluate = ("eval", "--checkpoint", "whole", "--data", "task", "--output", "refused")
    for flags, key in ((("--warm-up", "auto"), "--warm-up"), (("--recompute",), "recompute"),
                       (("--document-boundary", "1"), "--document-boundary")):
        refused(job, 3, *evaluate, *flags, says=[key, "split test of task, which consists of examples"],
                leaves_nothing_at="refused")
    refused(job, 4, "train", "config.json", "--run", "refused", "--set", "training.batch_size=41",
            says=["split train", "expected at least 41 examples for as many streams, found 40"])
    check_refuses_what_teaches_nothing(job)
    shutil.copytree(job.path("task"), job.path("cut"))
    marks = job.path("cut", "test-marks-00000.h5")
    os.truncate(marks, os.path.getsize(marks) // 2)
    refused(job, 4, "eval", "--checkpoint", "whole", "--data", "cut", says=["test-marks-00000.h5"])


def main():
    require("mpirun", "h5dump")
    job = Job()
    write_world(job)
    check(TINY_MODEL["mem_len"] >= 3 * SEGMENT, "the memory holds an example")
    check_segments_without_an_answer(job)
    check_resumes(job)
    check_ranks(job)
    check_evaluation(job)
    check_refusals(job)


main()
