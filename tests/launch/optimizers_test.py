"""Every optimizer trains a small model; a run stopped in the middle goes on bit for bit; another's state is refused.

And the plateau schedule: its rate after evaluations is what their losses lead to, also across a resume. And the loss of
half a segment: what is learned from a whole one is what is learned from its two parts.
"""

import json

from program import TINY_MODEL, Program, check, check_same_run, metrics
from tensor_files import read_safetensors

STEPS = 200
FALL = 0.5  # nats; the loss begins at log 256 = 5.5
OPTIMIZERS = {
    "adam": {"kind": "adam", "lr": 0.003},
    "adamw": {"kind": "adamw", "lr": 0.003, "weight_decay": 0.01},
    "lamb": {"kind": "lamb", "lr": 0.02, "weight_decay": 0.01},
    "adagrad": {"kind": "adagrad", "lr": 0.02},
    "sgd": {"kind": "sgd", "lr": 2.0},
    "momentum": {"kind": "sgd", "lr": 0.3, "momentum": 0.9},
}


def write_config(program, name, optimizer, max_step=STEPS, **groups):
    settings = {
        "data": {"path": "text", "vocab_size": 256}, "model": TINY_MODEL, "optimizer": optimizer,
        "schedule": {"warmup_step": 10},
        "training": {"batch_size": 4, "tgt_len": 16, "max_step": max_step, "log_interval": 20},
        "evaluation": {"interval": 0}, "checkpoint": {"interval": 0}, **groups}
    return program.config(name + ".json", **settings)


def check_training(program, name, optimizer):
    config = write_config(program, name, optimizer)
    program.run("train", config, "--run", name, "--quiet")
    losses = [line["loss"] for line in metrics(program.path(name))]
    check(losses[-1] < losses[0] - FALL, f"{name}: the loss went from {losses[0]} to {losses[-1]}")
    return losses[-1]


def check_resume(program, name, optimizer):
    """Stopped after 60 steps of 120. Nothing in the rate depends on where the run ends."""
    schedule = {"kind": "constant"}
    config = write_config(program, name + "-120", optimizer, 120, schedule=schedule)
    program.run("train", config, "--run", name + "-whole", "--quiet")
    program.run("train", config, "--run", name + "-half", "--quiet", "--set", "training.max_step=60")
    program.run("train", config, "--run", name + "-half", "--quiet", "--resume")
    check_same_run(program.path(name + "-whole"), program.path(name + "-half"), 120, name)


def check_all_kinds(program):
    schema = json.loads(program.run("schema")[0])
    missing = set(schema["properties"]["optimizer"]["properties"]["kind"]["enum"]) - {o["kind"] for o in OPTIMIZERS.values()}
    check(not missing, f"no training with {', '.join(sorted(missing))}: give each a rate in OPTIMIZERS")


def check_refusal(program):
    config = write_config(program, "other", OPTIMIZERS["lamb"], 130, schedule={"kind": "constant"})
    _, errors = program.run("train", config, "--run", "adam-half", "--resume", "--quiet", expect=5)
    check("expected the state of optimizer lamb" in errors and "found that of adam" in errors, errors)
    _, errors = program.run("train", config, "--run", "none", "--set", "data.vocab_size=300", expect=4)
    check("data.vocab_size = 300" in errors and "found one of 256" in errors, errors)


def plateau_rates(lines, lr, factor, eta_min):
    """The rate of every logged step, by the losses of the evaluations before it."""
    rate, best, expected = lr, None, []
    for line in lines:
        if "evaluation" not in line:
            expected.append((rate, line["learning_rate"]))
        elif best is None or line["loss"] < best * (1 - 1e-4):
            best = line["loss"]
        else:
            rate = max(rate * factor, eta_min)
    return expected


def check_plateau(program):
    """A rate far too high, so that evaluations get worse."""
    groups = {"schedule": {"kind": "plateau", "decay_rate": 0.25, "eta_min": 0.0005},
              "training": {"batch_size": 4, "tgt_len": 16, "max_step": 120, "log_interval": 5},
              "evaluation": {"interval": 10, "max_tokens": 512}}
    config = write_config(program, "plateau", {"kind": "adam", "lr": 0.1}, **groups)
    program.run("train", config, "--run", "plateau", "--quiet")
    rates = plateau_rates(metrics(program.path("plateau")), 0.1, 0.25, 0.0005)
    check(all(expected == found for expected, found in rates), f"plateau: {rates}")
    check(rates[-1][1] < 0.1, "plateau: the rate never fell")
    program.run("train", config, "--run", "plateau-half", "--quiet", "--set", "training.max_step=65")
    program.run("train", config, "--run", "plateau-half", "--quiet", "--resume")
    check_same_run(program.path("plateau"), program.path("plateau-half"), 120, "plateau", ended_at=65)
    with open(program.path("plateau", "checkpoints", "step-00000120", "state.json")) as file:
        check(json.load(file)["plateau"]["rate"] == rates[-1][1], "plateau: another rate in the checkpoint")


def first_step(program, name, tgt_len, loss_part):
    """Loss and weights after a step of plain descent, which moves weights by their gradients."""
    config = write_config(
        program, name, {"kind": "sgd", "lr": 1.0, "clip": 0}, 1, schedule={"kind": "constant"},
        model=dict(TINY_MODEL, dropout=0, dropatt=0),
        training={"batch_size": 4, "tgt_len": tgt_len, "loss_part": loss_part, "max_step": 1, "log_interval": 1})
    _, errors = program.run("train", config, "--run", name)
    check(("the newest 8 of them" in errors) == (loss_part == "half"), f"{name}: {errors}")
    weights = read_safetensors(program.path(name, "checkpoints", "step-00000001", "weights.safetensors"))
    return metrics(program.path(name))[0]["loss"], weights


def check_loss_part(program):
    """Of 15 tokens the newest 8 are learned from; the 7 before are a segment of their own."""
    whole, newest, oldest = (first_step(program, name, tgt_len, part) for name, tgt_len, part in (
        ("part-full", 15, "full"), ("part-half", 15, "half"), ("part-rest", 7, "full")))
    mean = (8 * newest[0] + 7 * oldest[0]) / 15
    check(abs(whole[0] - mean) < 1e-5, f"loss of a segment {whole[0]}, of its parts {mean}")
    check(abs(newest[0] - oldest[0]) > 1e-3, "the parts' losses are the same")
    for name, (_, values) in whole[1].items():
        worst = max(abs(w - (8 * n + 7 * o) / 15) for w, n, o in zip(values, newest[1][name][1], oldest[1][name][1]))
        check(worst < 1e-6, f"{name}: a step of the whole is off that of its parts by {worst}")


def main():
    program = Program()
    check_all_kinds(program)
    program.prepare_text("text", 20000, 3)
    for name, optimizer in OPTIMIZERS.items():
        print(f"{name}: {check_training(program, name, optimizer):.2f} nats")
        check_resume(program, name, optimizer)
    check_refusal(program)
    check_plateau(program)
    check_loss_part(program)


if __name__ == "__main__":
    main()
