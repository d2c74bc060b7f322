"""A dry run refuses what training refuses, in the same words, and passes what training starts with."""

import json
import os

from job import Job, require
from program import TINY_MODEL, check, check_same_run, metrics


def error_of(job, code, *arguments):
    _, errors = job.run("train", *arguments, "--quiet", expect=code)
    lines = [line for line in errors.splitlines() if line.startswith("segue:")]
    check(len(lines) == 1, f"{arguments}: expected one line of error: {errors}")
    return lines[0]


def check_refused(job, code, says, *arguments):
    before = sorted(os.listdir(job.directory))
    planned = error_of(job, code, *arguments, "--dry-run")
    check(says in planned, f"{arguments}: expected {says!r} in: {planned}")
    check(sorted(os.listdir(job.directory)) == before, f"{arguments}: a dry run wrote something")
    found = error_of(job, code, *arguments)
    check(found == planned, f"{arguments}: a dry run says\n{planned}\ntraining\n{found}")


def test_refuses_what_training_refuses(job):
    def refused(code, says, *settings):
        sets = [word for setting in settings for word in ("--set", setting)]
        check_refused(job, code, says, "config.json", "--run", "new", *sets)

    refused(4, 'expected a split "dev"', "evaluation.split=dev")
    refused(4, "split valid: expected at least 20000 tokens for 10000 streams", "evaluation.batch_size=10000")
    refused(4, "split train: expected at least 40000 tokens for 20000 streams", "training.batch_size=20000")
    refused(4, "expected a vocabulary of data.vocab_size = 300", "data.vocab_size=300")
    refused(4, "nowhere", "data.path=nowhere")
    refused(5, "nowhere: expected a run or a checkpoint", "training.init_from=nowhere")
    refused(5, "feed_forward.w1: expected float32 [64, 32], found float32 [48, 32]", "training.init_from=run", "model.d_inner=64")
    job.environment["CUDA_VISIBLE_DEVICES"] = ""
    refused(7, '"nccl" needs GPUs', "training.communicator=nccl")
    del job.environment["CUDA_VISIBLE_DEVICES"]
    check_refused(job, 2, "a run is there already", "config.json", "--run", "run")
    check_refused(job, 3, "cannot resume with training.batch_size", "--run", "run", "--resume", "--set",
                  "training.batch_size=4")
    check_refused(job, 5, "expected the state of optimizer sgd", "--run", "run", "--resume", "--set",
                  "optimizer.kind=sgd")


def test_many_ranks_start(job):
    """With fewer streams to evaluate than ranks."""
    many = ("--set", "training.batch_size=1024", "--ranks", 1024)
    planned, _ = job.run("train", "config.json", "--run", "new", "--dry-run", *many)
    check(" 1023  " in planned and "1,024 streams" in planned, planned[-500:])
    twelve = ("--set", "training.batch_size=12", "--set", "evaluation.interval=2", "--set", "training.max_step=2")
    job.run("train", "config.json", "--run", "twelve", "--dry-run", "--ranks", 12, *twelve)
    _, errors = job.run_ranks(12, "train", "config.json", "--run", "twelve", "--quiet", *twelve, "--set", "schedule.warmup_step=9")
    check(errors.count("a warm-up of 9 steps is not over") == 1, f"not one warning of what all ranks find:\n{errors}")
    check([line["step"] for line in metrics(job.path("twelve")) if "evaluation" in line] == [2], "no evaluation")


def test_weights_that_do_not_fit(job):
    """Of more than any machine has, all plans tell the sizes."""
    sizes = [word for key, size in (("n_layer", 400), ("d_model", 8192), ("d_inner", 65536), ("n_head", 64), ("d_head", 128))
             for word in ("--set", f"model.{key}={size}")]
    for words in (["inspect", "config.json", *sizes], ["inspect", "config.json", "--products", "--json", *sizes],
                  ["inspect", "config.json", "--vocab-size", 300000000, "--set", "model.d_model=1024", "--set", "model.d_head=256"],
                  ["train", "config.json", "--run", "new", "--dry-run", "--ranks", 4, *sizes]):
        output, _ = job.run(*words)
        check("GiB" in output or '"products"' in output, f"{words}: {output[-500:]}")


def test_memory_that_is_not_there(job):
    """A plan of more than this machine has says so and what to lower; one that fits says nothing."""
    planned, _ = job.run("train", "config.json", "--run", "new", "--dry-run")
    check("Training takes" not in planned, planned)
    of_machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    of_layer = 4 * 2 * 8192 * 65536  # bytes of its feed-forward's weights; gradients and an optimizer's state are three times more
    huge = ("model.d_model=8192", "model.d_inner=65536", f"model.n_layer={of_machine // 2 // of_layer}")
    planned, _ = job.run("train", "config.json", "--run", "new", "--dry-run", *(word for key in huge for word in ("--set", key)))
    check("\nTraining takes " in planned and "of memory, but " in planned and "; lower training." in planned and 'or set training.recompute to "block"' in planned,
          planned[-500:])


def test_recompute(job):
    """Another plan, and the same run to the bit."""
    def activations(recompute):
        output, _ = job.run("inspect", "config.json", "--json", "--vocab-size", 256, "--set", "model.n_layer=12", "--set",
                            f"training.recompute={recompute}")
        return json.loads(output)["model"]["training"]["activation_bytes"]

    found = [activations(recompute) for recompute in ("none", "attention", "block")]
    check(found[0] > found[1] > found[2], f"activations with recompute none, attention, block: {found}")
    output, _ = job.run("inspect", "config.json", "--vocab-size", 256, "--set", "training.recompute=block")
    check('(recompute "block")' in output, output)
    for recompute in ("attention", "block"):
        job.run("train", "config.json", "--run", recompute, "--quiet", "--set", f"training.recompute={recompute}")
        check_same_run(job.path("run"), job.path(recompute), 2, f"recompute {recompute}")
    check_refused(job, 3, 'training.recompute: expected one of "none", "attention", "block", found "all"', "config.json", "--run", "new",
                  "--set", "training.recompute=all")


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 20000, 1)
    job.write_config(training={"batch_size": 5, "max_step": 2}, evaluation={}, model=TINY_MODEL)
    job.run("train", "config.json", "--run", "run", "--quiet")
    test_refuses_what_training_refuses(job)
    test_many_ranks_start(job)
    test_weights_that_do_not_fit(job)
    test_memory_that_is_not_there(job)
    test_recompute(job)


main()
