"""Stages that see a share of windows and train at a multiple of the schedule's rate are, bit for bit, runs of smaller windows and
other rates; resumed within a stage and where one ends, they are the runs that never were stopped."""

import os
import re
import shutil

from program import KEYS_VALUES, MASKED, TINY_MODEL, Program, check, check_same_run, evaluate, metrics

STEPS = 18


def sparse(window, dilated):
    return {"kind": "sparse", "patterns": [{"kind": "window", "heads": [0], "window": window},
                                           {"kind": "dilated", "heads": [1], "window": dilated, "stride": 3}]}


def windows(window, dilated):
    """The first layer has windows, the second patterns; what the second one's heads see ends alike."""
    return {"visibility": {"kind": "window", "window": window}, "layers": [{"only": [1], "visibility": sparse(window, dilated)}]}


MODELS = {"windows": (TINY_MODEL, windows(24, 8), windows(6, 2)),
          "masked": (TINY_MODEL | MASKED | KEYS_VALUES, {"visibility": sparse(24, 8)}, {"visibility": sparse(6, 2)})}

STAGES = [{"until_step": 6, "tgt_len": 8, "mem_len": 10, "window_share": 0.25, "lr_factor": 4},
          {"until_step": 12, "tgt_len": 8, "mem_len": 12, "window_share": 0.5, "lr_factor": 2}]

SCHEDULES = {"cosine": {"kind": "cosine", "warmup_step": 3}, "linear": {"kind": "linear"},
             "inv_sqrt": {"kind": "inv_sqrt", "warmup_step": 4}, "constant": {"kind": "constant"}}


def write_config(program, name, model, stages, schedule, lr=0.001, **training):
    return program.config(
        name + ".json", data={"path": "text"}, model=model, optimizer={"kind": "adamw", "lr": lr, "weight_decay": 0.1},
        schedule=schedule, training={"batch_size": 3, "batch_chunk": 2, "tgt_len": 16, "max_step": STEPS, "log_interval": 1,
                                     "threads": 1, **training, "stages": stages},
        evaluation={"interval": 4, "batch_size": 4}, checkpoint={"interval": 1, "keep_last": STEPS})


def trained(program, config, run, *more):
    program.run("train", config, "--run", run, "--quiet", *more)
    return [line for line in metrics(program.path(run)) if "evaluation" not in line]


def resumed_after(program, config, run, step):
    """A copy of the run that has nothing after the step, resumed."""
    copy = f"{run}-{step}"
    shutil.copytree(program.path(run), program.path(copy), symlinks=True)
    checkpoints = program.path(copy, "checkpoints")
    for name in os.listdir(checkpoints):
        number = re.fullmatch(r"step-(\d+)", name)
        if number and int(number[1]) > step:
            shutil.rmtree(os.path.join(checkpoints, name))
    program.run("train", config, "--run", copy, "--resume", "--quiet")
    return program.path(copy)


def test_a_stage_is_a_run_of_such_windows_and_such_a_rate(program, kind):
    model, wide, narrow = MODELS[kind]
    for name, schedule in SCHEDULES.items():
        config = write_config(program, f"{kind}-{name}", model | wide, STAGES, schedule)
        alike = write_config(program, f"{kind}-{name}-alike", model | narrow | {"mem_len": 10}, [], schedule, lr=0.004, tgt_len=8)
        staged = trained(program, config, f"{kind}-{name}", "--set", "evaluation.interval=0")
        found = trained(program, alike, f"{kind}-{name}-alike", "--set", "evaluation.interval=0")
        check(staged[:6] == found[:6] and staged[6]["loss"] != found[6]["loss"], f"{kind}, {name}: {staged[:7]} and {found[:7]}")
        rates = [line["learning_rate"] for line in staged]
        plain = [line["learning_rate"] / 4 for line in found]
        check(rates == [rate * factor for rate, factor in zip(plain, 6 * [4] + 6 * [2] + 6 * [1])], f"{kind}, {name}: rates {rates}")


def test_resumes(program, kind):
    """Also with a rate that follows evaluations: within a stage, where one ends, and after the last."""
    model, wide, _ = MODELS[kind]
    for name, schedule, lr in (("cosine", SCHEDULES["cosine"], 0.001), ("plateau", {"kind": "plateau", "warmup_step": 2}, 0.05)):
        config = write_config(program, f"{kind}-{name}-saved", model | wide, STAGES, schedule, lr)
        run = f"{kind}-{name}-saved"
        _, errors = program.run("train", config, "--run", run)
        for line in ("from step 1 on: segments of 8 tokens, a memory of 10, windows times 0.25, the schedule's learning rate times 4",
                     "from step 7 on: segments of 8 tokens, a memory of 12, windows times 0.5, the schedule's learning rate times 2",
                     "from step 13 on: segments of 16 tokens, a memory of 24, windows times 1, the schedule's learning rate times 1"):
            check(errors.count(line) == 1, f"{kind}, {name}: not once: {line}\n{errors}")
        for step in (5, 6, 9, 12, 14):
            check_same_run(program.path(run), resumed_after(program, config, run, step), STEPS, f"{kind}, {name}, resumed after {step}")
    rates = [line["learning_rate"] for line in metrics(program.path(f"{kind}-plateau-saved")) if "evaluation" not in line]
    plain = [rate / factor for rate, factor in zip(rates, 6 * [4] + 6 * [2] + 6 * [1])]
    falls = plain[2:]  # after a warm-up
    check(plain[:3] == [0.05, 0.025, 0.05] and falls == sorted(falls, reverse=True), f"{kind}: rates of a plateau {plain}")
    check(falls[-1] < 0.05, f"{kind}: the rate never fell: {plain}")


def test_evaluations_see_all_of_the_windows(program, kind):
    """In the first stage, too: as `segue eval` of the model does, whose config has no stages."""
    run = f"{kind}-cosine-saved"
    evaluations = [next(line for line in metrics(program.path(run)) if "evaluation" in line)]
    program.run("train", f"{kind}-cosine-alike.json", "--run", f"{kind}-narrow", "--quiet", "--set", "evaluation.tgt_len=16",
                "--set", "evaluation.mem_len=24")
    evaluations.append(next(line for line in metrics(program.path(f"{kind}-narrow")) if "evaluation" in line))
    check([line["step"] for line in evaluations] == [4, 4], f"{kind}: {evaluations}")
    loss = evaluate(program, "--checkpoint", program.path(run, "checkpoints", "step-00000004"), "--data", "text", "--split", "valid",
                    "--batch-size", 4, "--tgt-len", 16, "--mem-len", 24)["loss"]
    alike = [abs(line["loss"] - loss) <= 1e-6 * loss for line in evaluations]
    check(alike == [True, False], f"{kind}: {loss}, in training with a stage and with small windows {evaluations}")


def main():
    program = Program()
    program.prepare_text("text", 700, seed=1)
    for kind in MODELS:
        test_a_stage_is_a_run_of_such_windows_and_such_a_rate(program, kind)
        test_resumes(program, kind)
        test_evaluations_see_all_of_the_windows(program, kind)


main()
