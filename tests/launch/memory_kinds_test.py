"""Kinds of memory beside the hidden states of Transformer-XL, and of blocks beside its own: killed and resumed bit for
bit, the same on any number of ranks and in any parts of a step, read alike from caches, and refused by name where they
cannot be."""

import json
import os
import random
import shutil
import time

from job import Job, check_close, losses, metrics, newest_step, require
from program import TINY_MODEL, TooLate, check, check_same_run, refused, read_evaluation, until_in_time
from tensor_files import read_safetensors

USAGE, CONFIG = 2, 3
STEPS = 60
KILLS = 3

# What a checkpoint holds of these goes to other numbers of ranks; of the others, which differ in what they make of it,
# it is the same.
SAVED_BY_RANKS = ("tokens", "associative", "infini", "recurrent", "compressed", "encoder", "hybrid", "gated", "reversible", "shared", "halting")

# Layers of these attend to no rows.
STATES = ("state", "retention", "hybrid")

PERFORMER = {"kind": "state", "feature": "performer", "random_features": 9, "convolution": 3, "decay": "channel",
             "erases": False, "output_norm": "weights"}

RETENTION = {"kind": "state", "feature": "identity", "unit_keys": False, "decay": "fixed", "erases": False, "strength": "full"}

# Of each kind: its model, what training says, and a model of the same kind that cannot take over its state.
KINDS = {
    "tokens": ({"memory": {"kind": "tokens", "tokens": 3}, "mem_len": 7},
               {"tgt_len": 5, "segments_per_step": 3, "stages": [
                   {"until_step": 20, "tgt_len": 4, "mem_len": 0, "segments_per_step": 1},
                   {"until_step": 35, "tgt_len": 5, "mem_len": 7, "segments_per_step": 2}]},
               {"memory": {"kind": "tokens", "tokens": 4}, "mem_len": 7}),
    "own_tokens": ({"memory": {"kind": "tokens", "tokens": 2, "written": "own"}, "mem_len": 0,
                    "position": {"kind": "rope"}},
                   {"tgt_len": 6, "segments_per_step": 4},
                   {"memory": {"kind": "tokens", "tokens": 2}, "mem_len": 0, "position": {"kind": "rope"}}),
    "associative": ({"memory": {"kind": "associative", "tokens": 2, "shifts": 2}, "mem_len": 6},
                    {"tgt_len": 5, "segments_per_step": 3, "stages": [
                        {"until_step": 20, "tgt_len": 4, "mem_len": 0, "segments_per_step": 1}]},
                    {"memory": {"kind": "associative", "tokens": 2, "shifts": 1}, "mem_len": 6}),
    "infini": ({"memory": {"kind": "infini"}, "mem_len": 6},
               {"tgt_len": 5, "segments_per_step": 3, "reset_interval": 8, "stages": [
                   {"until_step": 20, "tgt_len": 4, "mem_len": 0, "segments_per_step": 1}]},
               {"memory": {"kind": "infini"}, "mem_len": 6, "position": {"kind": "alibi"}}),
    "recurrent": ({"memory": {"kind": "block_recurrent", "states": 3}, "mem_len": 6},
                  {"tgt_len": 5, "segments_per_step": 3, "stages": [
                      {"until_step": 20, "tgt_len": 4, "mem_len": 0, "segments_per_step": 1}]},
                  {"memory": {"kind": "block_recurrent", "states": 3, "gate": "lstm"}, "mem_len": 6}),
    "lstm": ({"memory": {"kind": "block_recurrent", "states": 4, "recurrent_layer": 1, "gate": "lstm"}, "mem_len": 0,
              "position": {"kind": "rope"}, "block": {"pre_lnorm": True}},
             {"tgt_len": 5, "segments_per_step": 2, "reset_interval": 8},
             {"memory": {"kind": "block_recurrent", "states": 4, "gate": "lstm"}, "mem_len": 0,
              "position": {"kind": "rope"}, "block": {"pre_lnorm": True}}),
    "compressed": ({"memory": {"kind": "compressed", "compressed_len": 4, "compression_rate": 3}, "mem_len": 7},
                   {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 5}]},
                   {"memory": {"kind": "compressed", "compressed_len": 3, "compression_rate": 3}, "mem_len": 7}),
    "dilated": ({"memory": {"kind": "compressed", "compressed_len": 3, "compression_rate": 4,
                            "compression": "dilated_convolution", "reconstruction": "auto_encoding"},
                 "mem_len": 9, "position": {"kind": "rope"}, "block": {"pre_lnorm": True}},
                {"tgt_len": 7},
                {"memory": {"kind": "compressed", "compressed_len": 3, "compression_rate": 2,
                            "compression": "dilated_convolution", "reconstruction": "auto_encoding"},
                 "mem_len": 9, "position": {"kind": "rope"}, "block": {"pre_lnorm": True}}),
    "most_used": ({"memory": {"kind": "compressed", "compressed_len": 4, "compression_rate": 3, "compression": "most_used"},
                   "mem_len": 7},
                  {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 5}]},
                  {"memory": {"kind": "compressed", "compressed_len": 4, "compression_rate": 3, "compression": "mean"},
                   "mem_len": 7}),
    "encoder": ({"memory": {"kind": "encoder", "encoder_layers": 1}, "mem_len": 7, "position": {"kind": "rope"}},
                {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0},
                                          {"until_step": 35, "tgt_len": 5, "mem_len": 3}]},
                {"memory": {"kind": "encoder", "encoder_layers": 2}, "mem_len": 7, "position": {"kind": "rope"}}),
    "state": ({"score": {"kind": "state"}, "mem_len": 0, "position": {"kind": "none"}},
              {"tgt_len": 5, "segments_per_step": 2, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0,
                                                                "segments_per_step": 1}]},
              {"score": {"kind": "state", "decay": "channel"}, "mem_len": 0, "position": {"kind": "none"}}),
    "retention": ({"score": RETENTION, "mem_len": 0, "position": {"kind": "rope"}},
                  {"tgt_len": 5, "segments_per_step": 3, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0,
                                                                    "segments_per_step": 1}]},
                  {"score": RETENTION, "mem_len": 0, "position": {"kind": "none"}}),
    "hybrid": ({"layers": [{"only": [0], "score": PERFORMER, "position": {"kind": "none"}}], "mem_len": 7,
                "position": {"kind": "rope"}},
               {"tgt_len": 5, "reset_interval": 8, "redraw_interval": 16,
                "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0}]},
               {"layers": [{"only": [1], "score": PERFORMER, "position": {"kind": "none"}}], "mem_len": 7,
                "position": {"kind": "rope"}}),
    "gated": ({"block": {"kind": "gated"}, "mem_len": 7},
              {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0}]},
              {"block": {"kind": "gated", "gate": "highway"}, "mem_len": 7}),
    "reversible": ({"block": {"kind": "reversible"}, "mem_len": 7},
                   {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0}]},
                   {"block": {"kind": "transformer", "pre_lnorm": True}, "mem_len": 7}),
    "shared": ({"depth": {"kind": "shared"}, "mem_len": 7},
               {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0}]},
               {"depth": {"kind": "shared", "step_codes": False}, "mem_len": 7}),
    "halting": ({"depth": {"kind": "halting", "halting_bias": 4.6}, "mem_len": 7},
                {"tgt_len": 5, "stages": [{"until_step": 20, "tgt_len": 4, "mem_len": 0}]},
                {"depth": {"kind": "shared"}, "mem_len": 7}),
    "highway": ({"block": {"kind": "gated", "gate": "highway", "gate_bias": 1.5, "final_norm": True}, "mem_len": 6,
                 "position": {"kind": "rope"}},
                {"tgt_len": 5},
                {"block": {"kind": "transformer", "pre_lnorm": True, "final_norm": True}, "mem_len": 6,
                 "position": {"kind": "rope"}}),
}


def write_config(job, name, model, training, **more):
    return job.config(name + ".json", data={"path": "text"}, model=TINY_MODEL | model, optimizer={"lr": 0.002},
                      schedule={"kind": "cosine", "warmup_step": 3},
                      training={"batch_size": 5, "batch_chunk": 2, "max_step": STEPS, "log_interval": 1, "threads": 1,
                                **training}, evaluation={"interval": 20}, **more)


def train(job, ranks, config, run, *more):
    job.run_ranks(ranks, "train", config, "--run", run, "--quiet", *more)
    return job.path(run)


def kill_often(job, config, run):
    moments = random.Random(3)
    for kill in range(KILLS):
        last = STEPS * (kill + 1) // (KILLS + 1) - 2
        process = job.start("train", config, "--run", run, "--resume", "--set", "checkpoint.interval=1")
        while process.poll() is None and newest_step(job.path(run)) < last:
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.01))
        if process.poll() is not None:
            raise TooLate
        process.kill()
        process.communicate()
    job.run("train", config, "--run", run, "--resume", "--set", "checkpoint.interval=1")


def evaluated(job, run, *options):
    job.run("eval", "--checkpoint", run, "--data", "text", "--split", "valid", "--name", "result", "--force", *options)
    return read_evaluation(job.path(run, "evaluations", "result"))["results"][0]["loss"]


def check_resumes_on_other_ranks(job, kind, config):
    train(job, 3, config, f"{kind}-saved", "--set", "training.max_step=40", "--set", "schedule.kind=constant")
    there = train(job, 3, config, f"{kind}-there", "--set", "schedule.kind=constant")
    for ranks in (1, 2, 3):
        shutil.copytree(job.path(f"{kind}-saved"), job.path(f"{kind}-to{ranks}"), symlinks=True)
        found = losses(train(job, ranks, config, f"{kind}-to{ranks}", "--resume", "--set", "schedule.kind=constant"))
        check_close(found, losses(there), 0.0 if ranks == 3 else 1e-4, f"{kind}, 3 to {ranks} ranks")


def test_kind(job, kind):
    model, training, other = KINDS[kind]
    config = write_config(job, kind, model, training)
    whole = train(job, 1, config, f"{kind}-whole", "--set", "checkpoint.interval=1")
    until_in_time(job, f"{kind}-killed", lambda: kill_often(job, config, f"{kind}-killed"))
    check_same_run(whole, job.path(f"{kind}-killed"), STEPS, f"{kind}, killed {KILLS} times")
    check_close(losses(train(job, 1, config, f"{kind}-at-once", "--set", "training.batch_chunk=1")), losses(whole), 1e-4,
                f"{kind}, a step in one part")
    check_close(losses(train(job, 3, config, f"{kind}-on3")), losses(whole), 1e-4, f"{kind}, 3 ranks")
    if kind in SAVED_BY_RANKS:
        check_resumes_on_other_ranks(job, kind, config)
    alike = [evaluated(job, f"{kind}-whole", "--memory", memory) for memory in ("as_trained", "kv_cache")]
    check(abs(alike[0] - alike[1]) <= 1e-5, f"{kind}: evaluated {alike}")
    once, _ = job.run("generate", "--checkpoint", f"{kind}-whole", "--prompt", "abc def ghij", "--tokens", "40", "--seed", "1")
    again, _ = job.run("generate", "--checkpoint", f"{kind}-whole", "--prompt", "abc def ghij", "--tokens", "40", "--seed", "1")
    check(once.splitlines()[0] == again.splitlines()[0], f"{kind}: generated\n{once}{again}")
    another = write_config(job, f"{kind}-other", other, training)
    shutil.copytree(job.path(f"{kind}-killed"), job.path(f"{kind}-changed"), symlinks=True)
    refused(job, CONFIG, "train", another, "--run", f"{kind}-changed", "--resume", says=["cannot resume with model."])


def test_memory_tokens_alone(job):
    """What only they have: a reach without limit, and steps of several segments."""
    run = "tokens-whole"
    refused(job, USAGE, "eval", "--checkpoint", run, "--data", "text", "--warm-up", "auto", says=["--warm-up", "tokens", "no limit"])
    result = read_evaluation(job.path(run, "evaluations", "result"))["results"][0]
    check(result["by_context"] == [] and len(result["by_position"]) == 5, f"{result['by_context']}")
    refused(job, CONFIG, "eval", "--checkpoint", run, "--data", "text", "--same-length", says=["same_length", "tokens"])
    output, _ = job.run("inspect", "tokens.json")
    check("without limit" in output and "3 memory tokens" in output, output)
    _, errors = job.run("train", "tokens.json", "--run", "said", "--set", "training.max_step=1", "--set", "training.stages=[]",
                        "--set", "training.segments_per_step=5")
    check("a step of 5 segments: an epoch has 96, so that the last step of an epoch has 1" in errors, errors)
    _, errors = job.run("train", "tokens.json", "--run", "short", "--set", "training.max_step=2", "--set", "training.stages=[]",
                        "--set", "training.segments_per_step=32", "--set", "training.tgt_len=50")
    check("training.segments_per_step: an epoch has 10 segments of 50 tokens, expected at least 32" in errors, errors)
    xl = write_config(job, "xl", {}, {"tgt_len": 5})
    refused(job, CONFIG, "train", xl, "--run", "no", "--set", "training.segments_per_step=2",
            says=["training.segments_per_step", "hidden_states"], leaves_nothing_at="no")
    refused(job, CONFIG, "export", "--checkpoint", run, "--output", "weights", says=["model.memory.kind", "tokens"],
            leaves_nothing_at="weights")
    train(job, 1, xl, "xl-saved", "--set", "training.max_step=5")
    refused(job, CONFIG, "train", xl, "--run", "xl-saved", "--resume", "--set", 'model.memory={"kind": "tokens"}',
            says=["cannot resume with model.memory.kind", "hidden_states", "tokens"])


def test_beside_others(job):
    """The same text of all, read by one stream from its beginning on where no warm-up is enough."""
    write_config(job, "base", {}, {"tgt_len": 5})
    comparison = {"base": "base.json", "budget": {"kind": "tokens", "amount": 1000}, "seeds": [1, 2], "variants": [
        {"name": "xl"}, {"name": "kept", "set": ["model.memory.kind=keys_values"]},
        {"name": "tokens", "set": ["model.memory.kind=tokens", "training.segments_per_step=4"]},
        {"name": "associative", "set": ["model.memory.kind=associative", "training.segments_per_step=4"]},
        {"name": "infini", "set": ["model.memory.kind=infini", "training.segments_per_step=4"]},
        {"name": "recurrent", "set": ["model.memory.kind=block_recurrent", "training.segments_per_step=4"]},
        {"name": "fives", "set": ["model.memory.kind=compressed", "model.memory.compression_rate=5"]},
        {"name": "threes", "set": ["model.memory.kind=compressed", "model.memory.compression_rate=3"]},
        {"name": "used", "set": ["model.memory.kind=compressed", "model.memory.compression_rate=5",
                                 "model.memory.compression=most_used"]},
        {"name": "encoder", "set": ["model.memory.kind=encoder", "model.position.kind=rope"]},
        {"name": "state", "set": ["model.score.kind=state", "model.position.kind=none", "model.mem_len=0"]}],
        "measure": {"max_tokens": 200}}
    output, _ = job.run("compare", job.write("comparison.json", json.dumps(comparison)), "--output", "compared", "--json")
    variants = json.loads(output)["variants"]
    names = ["xl", "kept", "tokens", "associative", "infini", "recurrent", "fives", "threes", "used", "encoder", "state"]
    check([variant["name"] for variant in variants] == names, output)
    output, _ = job.run("compare", "comparison.json", "--output", "planned", "--dry-run", "--json")
    found = {run["variant"]: run["tokens_per_step"] for run in json.loads(output)["runs"]}
    several = ("tokens", "associative", "infini", "recurrent")
    check(found == {name: 100 if name in several else 25 for name in names}, f"tokens a step: {found}")
    memory = [job.run("inspect", "tokens.json", "--set", "training.stages=[]", "--set", f"training.segments_per_step={segments}")[0]
              for segments in (1, 3)]
    lines = [[line for line in output.splitlines() if "activations" in line] for output in memory]
    check(lines[0] != lines[1], f"activations of one segment and of three: {lines}")


def test_attention(job):
    """How much of its attention each layer gives to its memory: of every kind, the same from any number of ranks."""
    for kind in KINDS:
        run = f"{kind}-whole"
        if KINDS[kind][0]["mem_len"] == 0 or kind in STATES:
            continue
        job.run("eval", "--checkpoint", run, "--data", "text", "--split", "valid", "--attention", "--name", "attention")
        result = read_evaluation(job.path(run, "evaluations", "attention"))["results"][0]
        loss = evaluated(job, run)
        check(abs(result["loss"] - loss) <= 1e-5, f"{kind}: loss {result['loss']} with attention, {loss} without")
        for layer in result["attention"]:
            shares = [age["share"] for age in layer["by_age"]]
            check(min(shares) >= 0 and abs(sum(shares) - layer["memory"]) <= 1e-9 and 0 < layer["memory"] < 1, f"{kind}: {layer}")
        job.run_ranks(3, "eval", "--checkpoint", run, "--data", "text", "--split", "valid", "--attention", "--name", "attention-3")
        of_ranks = read_evaluation(job.path(run, "evaluations", "attention-3"))["results"][0]["attention"]
        check(max(abs(a["memory"] - b["memory"]) for a, b in zip(result["attention"], of_ranks, strict=True)) <= 1e-6,
              f"{kind}: {result['attention']} of one rank, {of_ranks} of three")
    refused(job, CONFIG, "eval", "--checkpoint", "compressed-whole", "--data", "text", "--attention", "--recompute",
            says=["--recompute and --attention"])
    refused(job, CONFIG, "eval", "--checkpoint", "encoder-whole", "--data", "text", "--attention", "--mem-len", "0",
            says=["--attention", "--mem-len above 0"])
    by_batch = []
    for size in ("1", "4", "7"):
        job.run("eval", "--checkpoint", "encoder-whole", "--data", "text", "--attention", "--name", "batch", "--force", "--batch-size", size,
                "--document-boundary", "e", "--tgt-len", "2", "--mem-len", "2")
        by_batch.append(read_evaluation(job.path("encoder-whole", "evaluations", "batch"))["results"][0]["attention"])
    check(all(abs(a["memory"] - b["memory"]) <= 1e-6 for other in by_batch[1:] for a, b in zip(other, by_batch[0], strict=True)),
          f"attention of documents, whatever the batch: {by_batch}")
    output, _ = job.run("eval", "--checkpoint", "encoder-whole", "--data", "text", "--attention", "--document-boundary", "e",
                        "--tgt-len", "100")
    check("no whole segment found a full memory" in output, output)
    sparse = write_config(job, "sparse", {"visibility": {"kind": "sparse", "patterns": [{"kind": "window", "window": 4}]},
                                          "mem_len": 7}, {"tgt_len": 5, "max_step": 1})
    train(job, 1, sparse, "sparse-run")
    refused(job, CONFIG, "eval", "--checkpoint", "sparse-run", "--data", "text", "--attention",
            says=["attention", "model.visibility.kind", "sparse"])


def reconstruction_losses(run):
    lines = metrics(run)
    check(all("reconstruction_loss" not in line for line in lines if "evaluation" in line), f"{run}: an evaluation has one")
    return [line["reconstruction_loss"] for line in lines if "evaluation" not in line]


def test_passes_of_tokens_that_halt(job):
    """The mean number of passes is that of all ranks, but for a few tokens whose last pass turns on a rounding."""
    def mean_passes(run):
        return [line["mean_passes"] for line in metrics(job.path(run)) if "evaluation" not in line]
    whole = mean_passes("halting-whole")
    check(len(whole) == STEPS and 1.0 <= min(whole) and max(whole) <= 2.0, f"halting: {whole} passes")
    for run in ("halting-at-once", "halting-on3"):
        found = mean_passes(run)
        check(all(abs(a - b) < 0.05 for a, b in zip(found, whole, strict=True)), f"{run}: {found} passes, expected {whole}")


def test_compression_alone(job):
    """What only it has: a loss of its own, counted once, and lengths that it cannot have."""
    for kind in ("compressed", "dilated"):
        whole = reconstruction_losses(job.path(f"{kind}-whole"))
        check(len(whole) == STEPS and max(whole) > 0.0, f"{kind}: {whole}")
        for run in ("at-once", "on3"):
            found = reconstruction_losses(job.path(f"{kind}-{run}"))
            check(all(abs(a - b) <= 1e-4 * max(whole) for a, b in zip(found, whole, strict=True)),
                  f"{kind}-{run}: losses of reconstruction {found}, expected {whole}")
    for key, at_least in (("--mem-len=4", "at least tgt_len = 5"), ("--mem-len=7 --tgt-len=8", "at least tgt_len = 8"),
                          ("--mem-len=2 --tgt-len=2", "at least model.memory.compression_rate = 3")):
        refused(job, CONFIG, "eval", "--checkpoint", "compressed-whole", "--data", "text", *key.split(),
                says=["--mem-len", at_least, "compressed"])
    refused(job, CONFIG, "eval", "--checkpoint", "compressed-whole", "--data", "text", "--same-length",
            says=["model.visibility.same_length", "compressed"])
    refused(job, USAGE, "eval", "--checkpoint", "compressed-whole", "--data", "text", "--warm-up", "auto",
            says=["--warm-up", "tgt_len = 5", "no multiple of model.memory.compression_rate = 3"])
    refused(job, CONFIG, "eval", "--checkpoint", "compressed-whole", "--data", "text", "--recompute", "--tgt-len=6",
            says=["recompute", "compressed"])
    refused(job, USAGE, "eval", "--checkpoint", "most_used-whole", "--data", "text", "--warm-up", "auto", "--tgt-len=6",
            says=["--warm-up", 'model.memory.compression = "most_used"', "no limit"])
    output, _ = job.run("inspect", "most_used.json")
    check("without limit" in output and "4 rows of 3 compressed" in output, output)
    batches = [evaluated(job, "compressed-whole", "--warm-up", "auto", "--tgt-len=6", "--batch-size", size) for size in ("1", "3")]
    check(abs(batches[0] - batches[1]) <= 1e-5, f"compressed: evaluated {batches} with 1 and 3 streams")
    longer = [evaluated(job, "compressed-whole", "--memory", memory, "--mem-len=11", "--tgt-len=6",
                        "--set", "model.memory.compressed_len=9") for memory in ("as_trained", "kv_cache")]
    check(abs(longer[0] - longer[1]) <= 1e-5, f"compressed: evaluated {longer} with more compressed rows")
    output, _ = job.run("inspect", "compressed.json")
    check("4 rows of 3 compressed" in output and "inputs, at most" in output, output)
    refused(job, CONFIG, "export", "--checkpoint", "compressed-whole", "--output", "weights",
            says=["model.memory.kind", "compressed"], leaves_nothing_at="weights")


def test_encoder_alone(job):
    """What only it has: a state of tokens, a reach that layers do not lengthen, and what it cannot be asked for."""
    run = "encoder-whole"
    batches = [evaluated(job, run, "--warm-up", "auto", "--batch-size", size) for size in ("1", "3")]
    check(abs(batches[0] - batches[1]) <= 1e-5, f"encoder: evaluated {batches} with 1 and 3 streams")
    longer = [evaluated(job, run, "--memory", memory, "--mem-len=23", "--tgt-len=6") for memory in ("as_trained", "kv_cache")]
    check(abs(longer[0] - longer[1]) <= 1e-5, f"encoder: evaluated {longer} with a longer memory")
    output, _ = job.run("inspect", "encoder.json")
    check("11 tokens back" in output and "an encoder reads" in output and "of the encoder" in output and "140 B" in output, output)
    for asked, key in (("--same-length", "same_length"), ("--set=model.memory.initial=zeros", "model.memory.initial")):
        refused(job, CONFIG, "eval", "--checkpoint", run, "--data", "text", asked, says=[key, "encoder"])
    refused(job, CONFIG, "export", "--checkpoint", run, "--output", "weights", says=["model.position.kind", "rope"],
            leaves_nothing_at="weights")
    refused(job, CONFIG, "bench", "eval-speed", "encoder.json", says=["model.memory.kind", "encoder"])
    refused(job, CONFIG, "bench", "eval-speed", "encoder.json", "--set", "model.memory.kind=hidden_states",
            "--set", "model.memory.encoder_layers=2", "--set", "model.objective.kind=masked",
            "--set", "model.visibility.kind=full", says=["model.objective.kind", "masked"])
    refused(job, CONFIG, "train", "encoder.json", "--run", "no", "--set", "model.position.kind=relative",
            says=["model.position.kind", "relative", "encoder"], leaves_nothing_at="no")


def check_counts(job):
    """Random directions are no parameters, wherever these are counted."""
    output, _ = job.run("inspect", "hybrid.json")
    rows = [line.split() for line in output[:output.index("\nall ")].splitlines() if "]" in line]
    check([row[0] for row in rows if "drawn," in row] == ["layers.0.attention.directions"], f"drawn, not learned: {output}")
    learned = sum(int(row[-1].replace(",", "")) for row in rows if "drawn," not in row)
    counted = next(line for line in output.splitlines() if line.startswith("all ")).split()[-1]
    check(f"{learned:,}" == counted, f"{learned:,} learned, counted {counted}")
    _, errors = job.run("train", "hybrid.json", "--run", "counted", "--set", "training.max_step=1", "--set", "training.stages=[]")
    check(f"{counted} parameters" in errors, f"{counted} parameters by inspect: {errors}")


def test_associations_alone(job):
    """What only they have: matrices beside rows, which one segment a step would never learn to write."""
    run = "associative-whole"
    refused(job, USAGE, "eval", "--checkpoint", run, "--data", "text", "--warm-up", "auto", says=["--warm-up", "associative", "no limit"])
    output, _ = job.run("inspect", "associative.json")
    words = " ".join(output.split())  # of lines that fit a terminal
    check("without limit" in words and "2 memory tokens, associations of every layer" in words, output)
    for more, key in (((), "training.stages[].segments_per_step: 1"),
                      (("--set", "training.segments_per_step=1"), "training.segments_per_step: 1")):
        _, errors = job.run("train", "associative.json", "--run", "warned", "--set", "training.max_step=21", *more)
        check(key in errors and "layers do not learn to write" in errors, errors)
        shutil.rmtree(job.path("warned"))
    refused(job, CONFIG, "export", "--checkpoint", run, "--output", "weights", says=["model.memory.kind", "associative"],
            leaves_nothing_at="weights")
    written = read_safetensors(os.path.join(job.path(run), "checkpoints", f"step-{STEPS:08d}", "weights.safetensors"))
    check(any(written["layers.0.associations.v"][1]), "associations.v is as at the start")
    longer = [evaluated(job, run, "--memory", memory, "--mem-len=11", "--tgt-len=7") for memory in ("as_trained", "kv_cache")]
    check(abs(longer[0] - longer[1]) <= 1e-5, f"associative: evaluated {longer} in longer segments")


def test_infini_alone(job):
    """What only it has: matrices beside rows, of which segments of any length read what those before them wrote."""
    run = "infini-whole"
    refused(job, USAGE, "eval", "--checkpoint", run, "--data", "text", "--warm-up", "auto", says=["--warm-up", "infini", "no limit"])
    output = " ".join(job.run("inspect", "infini.json")[0].split())  # of lines that fit a terminal
    check("without limit" in output and "sums of keys and values in every layer" in output, output)
    refused(job, CONFIG, "export", "--checkpoint", run, "--output", "weights", says=["model.memory.kind", "infini"],
            leaves_nothing_at="weights")
    longer = [evaluated(job, run, "--memory", memory, "--mem-len=11", "--tgt-len=7") for memory in ("as_trained", "kv_cache")]
    check(abs(longer[0] - longer[1]) <= 1e-5, f"infini: evaluated {longer} in longer segments")


def test_recurrence_alone(job):
    """What only it has: states of one layer beside rows, which one segment a step would never learn to write."""
    run = "recurrent-whole"
    refused(job, USAGE, "eval", "--checkpoint", run, "--data", "text", "--warm-up", "auto",
            says=["--warm-up", "block_recurrent", "no limit"])
    result = read_evaluation(job.path(run, "evaluations", "result"))["results"][0]
    check(result["by_context"] == [] and len(result["by_position"]) == 5, f"{result['by_context']}")
    output = " ".join(job.run("inspect", "recurrent.json")[0].split())  # of lines that fit a terminal
    check("without limit" in output and "state vectors of one layer" in output, output)
    _, errors = job.run("train", "recurrent.json", "--run", "warned", "--set", "training.max_step=21",
                        "--set", "training.segments_per_step=1")
    check("training.segments_per_step: 1" in errors and "layers do not learn to write" in errors, errors)
    refused(job, CONFIG, "export", "--checkpoint", run, "--output", "weights",
            says=["model.memory.kind", "block_recurrent"], leaves_nothing_at="weights")
    saved = read_safetensors(os.path.join(job.path(run), "checkpoints", f"step-{STEPS:08d}", "memory-00000.safetensors"))
    check(any(saved["recurrent.0"][1]), "the states are zeros after training")
    for kind in ("recurrent", "lstm"):
        longer = [evaluated(job, f"{kind}-whole", "--memory", memory, "--mem-len=11", "--tgt-len=7")
                  for memory in ("as_trained", "kv_cache")]
        check(abs(longer[0] - longer[1]) <= 1e-5, f"{kind}: evaluated {longer} in longer segments")


def test_states_alone(job):
    """What only they have: a reach without limit, a state that no text lengthens, and what cannot be asked of them."""
    for kind, key in (("state", "model.score.kind"), ("hybrid", "model.layers[0].score.kind")):
        run = f"{kind}-whole"
        refused(job, USAGE, "eval", "--checkpoint", run, "--data", "text", "--warm-up", "auto", says=["--warm-up", key, "no limit"])
        refused(job, CONFIG, "eval", "--checkpoint", run, "--data", "text", "--attention", says=["attention", key])
        _, errors = job.run("generate", run, "ab", "--tokens", 1)
        check(", states " in errors if kind == "state" else ", KV cache and states " in errors, errors)
    refused(job, CONFIG, "eval", "--checkpoint", "state-whole", "--data", "text", "--mem-len", "3",
            says=["--mem-len", "expected 0", "model.score.kind"])
    output = " ".join(job.run("inspect", "state.json")[0].split())  # of lines that fit a terminal
    check("without limit" in output and "states of 2 layers" in output, output)
    check_counts(job)
    for kind in ("state", "retention"):
        lengths = [evaluated(job, f"{kind}-whole", "--tgt-len", str(length), "--batch-size", "1") for length in (1, 5, 64)]
        check(max(lengths) - min(lengths) <= 1e-5, f"{kind}: evaluated {lengths} in segments of 1, 5 and 64 tokens")
    by_document = [evaluated(job, "hybrid-whole", "--document-boundary", "e", "--batch-size", size) for size in ("1", "4")]
    check(abs(by_document[0] - by_document[1]) <= 1e-5, f"hybrid: documents evaluated {by_document} by 1 and 4 streams")


def test_resets_and_redraws(job):
    """Memories begin anew before the step after every reset_interval, random features after every redraw_interval."""
    model, _, _ = KINDS["hybrid"]
    runs = {name: train(job, 1, write_config(job, name, model, {"tgt_len": 5, "max_step": 17, **training},
                                             checkpoint={"interval": 1}), name)
            for name, training in (("going-on", {}), ("reset", {"reset_interval": 8}),
                                   ("redrawn", {"reset_interval": 8, "redraw_interval": 16}))}
    going_on, reset, redrawn = (losses(run) for run in runs.values())
    check(going_on[:8] == reset[:8] and going_on[8] != reset[8], f"reset after 8 steps: {going_on[:9]}, {reset[:9]}")
    check(reset[:16] == redrawn[:16] and reset[16] != redrawn[16], f"redrawn after 16: {reset[14:]}, {redrawn[14:]}")
    directions = {}
    for step in (15, 16, 17):
        tensors = read_safetensors(os.path.join(runs["redrawn"], "checkpoints", f"step-{step:08d}", "weights.safetensors"))
        directions[step] = tensors["layers.0.attention.directions"]
    check(directions[15] == directions[16] != directions[17], "random features are drawn between steps 16 and 17")


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 3000, seed=1)
    for kind in KINDS:
        test_kind(job, kind)
    test_memory_tokens_alone(job)
    test_beside_others(job)
    test_compression_alone(job)
    test_passes_of_tokens_that_halt(job)
    test_encoder_alone(job)
    test_states_alone(job)
    test_associations_alone(job)
    test_infini_alone(job)
    test_recurrence_alone(job)
    test_resets_and_redraws(job)
    test_attention(job)


if __name__ == "__main__":
    main()
