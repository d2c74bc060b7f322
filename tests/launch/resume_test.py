"""A run that is killed and resumed equals an undisturbed run, bit for bit.

First once in the middle, then at random moments with a save after every step, so that many kills fall inside a save.
Dropout is on, the batch is cut in two, lengths change on the way, documents are told apart, the second model predicts
masked tokens and keeps keys and values, and the data are so short that epochs end, with a short segment, during the run.
"""

import os
import random
import subprocess
import time

from job import half_written, newest_step, wait_for_a_save
from program import KEYS_VALUES, MASKED, TINY_MODEL, Program, TooLate, check, check_same_run, metrics, until_in_time

STEPS = 20
MANY_STEPS = 300
KILLS = 20
FILE = 6  # an exit code


def stage(until_step, tgt_len, mem_len):
    return {"until_step": until_step, "tgt_len": tgt_len, "mem_len": mem_len}


def write_config(program, name, max_step, stages, model=TINY_MODEL, **checkpoint):
    return program.config(
        name, data={"path": "text", "document_boundary": "\n"}, model=model, optimizer={"lr": 0.002},
        schedule={"kind": "cosine", "warmup_step": 3},
        training={"batch_size": 3, "batch_chunk": 2, "tgt_len": 16, "max_step": max_step, "log_interval": 1,
                  "stages": stages},
        evaluation={"interval": 7, "batch_size": 2}, checkpoint=checkpoint)


def begin_as_a_run_of_such_lengths(program, config):
    """What the whole run did in its first stage, a run does that has no other lengths."""
    program.run("train", config, "--run", "short", "--set", "training.stages=[]", "--set", "training.tgt_len=5", "--set",
                "model.mem_len=0", "--set", "evaluation.interval=0", "--set", "schedule.kind=constant")
    program.run("train", config, "--run", "staged", "--set", "evaluation.interval=0", "--set", "schedule.kind=constant")
    short, staged = ([line["loss"] for line in metrics(program.path(run))] for run in ("short", "staged"))
    check(short[:6] == staged[:6] and short[6] != staged[6], f"{short[:7]} and {staged[:7]}")
    tokens = [line["tokens"] for line in metrics(program.path("staged"))]
    check(tokens[5] == 6 * 3 * 5 and tokens[9] - tokens[8] == 3 * 16, f"tokens after each step: {tokens}")


def kill_once(program, config):
    process = program.start("train", config, "--run", "once")
    while not os.path.isdir(program.path("once", "checkpoints", "step-00000010")):
        if process.poll() is not None:
            raise TooLate
        time.sleep(0.001)
    process.kill()
    process.communicate()
    if os.path.isdir(program.path("once", "checkpoints", "step-00000020")):
        raise TooLate
    program.run("train", config, "--run", "once", "--resume")


def kill_often(program, config, run):
    """Each process is killed at a random moment after a random number of steps, so few that the run can't be over; every
    second one when a save begins. Returns how many kills left a checkpoint half written."""
    moments = random.Random(7)
    checkpoints = program.path(run, "checkpoints")
    inside_a_save = 0
    for kill in range(KILLS):
        last = newest_step(program.path(run)) + moments.randint(1, MANY_STEPS // KILLS - 2)
        process = program.start("train", config, "--run", run, "--resume")
        while process.poll() is None and newest_step(program.path(run)) < last:
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.01))
        if kill % 2 == 1:
            wait_for_a_save(process, checkpoints)
        if process.poll() is not None:
            raise TooLate
        process.kill()
        process.communicate()
        inside_a_save += half_written(checkpoints)
    program.run("train", config, "--run", run, "--resume")
    return inside_a_save


def resume_with_leftovers(program, config):
    """Of a killed process, and cannot be deleted: said once each, and training goes on."""
    leftovers = [program.path("leftovers", "checkpoints", name) for name in (".step-00000020.partial", ".step-00000030.removed")]
    for path in leftovers:
        os.makedirs(path)
        open(os.path.join(path, "held"), "w").close()
        if subprocess.run(["chattr", "+i", os.path.join(path, "held")], capture_output=True).returncode != 0:
            print("leftovers were not tested: files cannot be made immutable here")
            return
    try:
        _, errors = program.run("train", config, "--run", "leftovers", "--resume")
        for path in leftovers:
            check(errors.count(f"{os.path.basename(path)}/held: cannot remove: Operation not permitted") == 1, errors)
            check(os.listdir(path) == ["held"], f"{path} is gone")
    finally:
        for path in leftovers:
            subprocess.run(["chattr", "-i", os.path.join(path, "held")], check=True)
    check_same_run(program.path("whole"), program.path("leftovers"), STEPS, "with leftovers")


def end_where_another_takes_over(program, config):
    """Another host that does not see this one's lock puts its name into the file: nothing is written any more."""
    process = program.start("train", config, "--run", "taken", "--set", "training.max_step=1000000")
    while not os.path.isdir(program.path("taken", "checkpoints", "step-00000010")):
        check(process.poll() is None, "the run ended before it was taken over")
        time.sleep(0.001)
    os.replace(program.write("other", '{"host": "elsewhere", "process": 7, "random": "1"}'), program.path("taken", "lock"))
    written = metrics(program.path("taken"))[-1]["step"]
    _, errors = process.communicate(timeout=60)
    check(process.returncode == FILE, f"taken over: exit {process.returncode}\n{errors}")
    lines = [line for line in errors.splitlines() if line.startswith("segue: ")]
    check(len(lines) == 1 and "lock: taken over by elsewhere pid 7" in lines[0], f"taken over: {errors}")
    check(metrics(program.path("taken"))[-1]["step"] <= written + 1, "went on writing metrics")
    program.run("train", config, "--run", "taken", "--resume")


def main():
    program = Program()
    program.prepare_text("text", 1000, seed=1)
    config = write_config(program, "run.json", STEPS, [stage(6, 5, 0), stage(8, 9, 20), stage(10, 16, 7)],
                          interval=10)
    program.run("train", config, "--run", "whole")
    begin_as_a_run_of_such_lengths(program, config)
    until_in_time(program, "once", lambda: kill_once(program, config))
    check_same_run(program.path("whole"), program.path("once"), STEPS, "killed once")
    resume_with_leftovers(program, config)
    end_where_another_takes_over(program, config)

    config = write_config(program, "often.json", MANY_STEPS, [stage(90, 7, 0), stage(200, 11, 9)],
                          TINY_MODEL | MASKED | KEYS_VALUES, interval=1, keep_last=2)
    program.run("train", config, "--run", "saved")
    inside = until_in_time(program, "often", lambda: kill_often(program, config, "often"))
    check_same_run(program.path("saved"), program.path("often"), MANY_STEPS, "killed often")
    print(f"{KILLS} kills, {inside} inside a save")
    check(inside > 0, "no kill fell inside a save")


main()
