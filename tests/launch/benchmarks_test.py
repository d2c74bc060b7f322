"""Every program in benchmarks: run on what is small through all of its code, and what it writes read; its help has an example,
and wrong input is refused in one line. With PyTorch, and what else a program needs, in this python3 the peers take part too.

The second argument is the build directory. The parts named after it are run; without names all but feature_error, which needs a
test program that not every build has.
"""

import concurrent.futures
import json
import math
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time
from importlib.util import find_spec

from benchmark_programs import (BENCHMARKS, BUILD, MEASURED, ONCE, ROOT, SHORT, TINY, USAGE, call, has, peer,
                                read_json, refused, results, sets)
from benchmark_usage import usage
from program import Program, check

# The programs.

def compare_cpu(program):
    if not (BUILD / "benchmarks" / "matmul_peak").is_file():
        print("not run: compare_cpu: this build has no benchmarks (SEGUE_BENCHMARKS)", flush=True)
        return
    small = [*sets(*TINY, *SHORT), "--seconds", "0.001", "--cubes", "32", "64", *MEASURED]
    call(program, "compare_cpu", *small, "--no-peer", "--rounds", "2", "--tasks", "training", "evaluation in bf16", "--output", "out/cpu.1")
    found = results(program, "out/cpu.1", "json", "md")
    check(found["rounds"] == 2 and found["threads"] == 1, f"compare_cpu: {found['rounds']} rounds")
    for name, model in found["models"].items():
        failed = [task for task in ("training", "evaluation in bf16") if f"Segue, {task}, {name}" in found["failed"]]
        expected = {"evaluation in bf16"} if name == "12 layers, long memory" else {"training", "evaluation in bf16"}
        check(set(model["tasks"]) == expected - set(failed), f"compare_cpu: {name}: {list(model['tasks'])}")
        check({product["shape"] for product in model["products"]} >= {"32x32x32", "64x64x64"}, f"compare_cpu: {model['products']}")
        for task in model["tasks"].values():
            low, high = task["programs"]["Segue"]["tokens_per_second_range"]
            check(0 < low <= task["programs"]["Segue"]["tokens_per_second"] <= high, f"compare_cpu: {task}")
    call(program, "compare_cpu", *small, "--no-peer", "--rounds", "1", "--models", "4 layers", "--tasks", "training", "--instructions", "avx2",
         "--output", "out/avx2")
    found = results(program, "out/avx2", "json", "md")
    with open(program.path("out", "avx2.md")) as file:
        check(found["instructions"] == "avx2" and "SEGUE_CPU_LEVEL=x86-64-v3 ONEDNN_MAX_CPU_ISA=AVX2" in file.read(), f"compare_cpu: {found}")
    if not has("compare_cpu beside PyTorch", "torch"):
        return
    authors = stand_in_for_authors(program)
    call(program, "compare_cpu", *small, *peer(), "--rounds", "1", "--models", "4 layers", "--tasks", "training", "evaluation",
         "--authors", authors, "--output", "out/peers")
    found = results(program, "out/peers", "json", "md")
    for task in found["models"]["4 layers"]["tasks"].values():
        check(len(task["programs"]) == 5 and task["ratio_to_authors"]["ratio"] > 0 < task["ratio_to_peer"]["ratio"], f"compare_cpu: {found}")
    program.prepare_text("text", 3000, 1)
    out, said = call(program, "peers/train_step_cpu.py", "--data", "text.txt", "--seconds", "0", "--report-every", "1", "--n-layer", "1",
                   "--d-model", "16", "--n-head", "2", "--d-head", "8", "--tgt-len", "8", "--window", "0")
    check(json.loads(out.splitlines()[0])["bits_per_byte"] > 5, f"train_step_cpu: {out}{said}")


def stand_in_for_authors(program):
    """A checkout whose model has the interface of theirs, and no layers."""
    folder = pathlib.Path(program.path("authors", "pytorch"))
    folder.mkdir(parents=True)
    (folder / "mem_transformer.py").write_text('''
import torch
from torch import nn

class MemTransformerLM(nn.Module):
    def __init__(self, words, layers, heads, width, *sizes, mem_len, **others):
        super().__init__()
        self.mem_len, self.embedding, self.head = mem_len, nn.Embedding(words, width), nn.Linear(width, words)

    def forward(self, data, target, *memory):
        x = self.embedding(data)
        nll = nn.functional.cross_entropy(self.head(x).flatten(0, 1), target.flatten(), reduction="none").view_as(target)
        return [nll, *(torch.cat([rows, x.detach()])[-self.mem_len:] for rows in memory)]
''')
    return folder.parent


def compare_head(program):
    small = ["--vocab-size", "50", "--cutoffs", "10,20", "--div-val", "2", "--d-model", "16", "--tokens", "40", "--samples", "1"]
    call(program, "compare_head", *small, *MEASURED, *peer(), "--rounds", "2", "--output", "out/head")
    found = results(program, "out/head", "json", "md")
    programs = [name for name in ("segue", "pytorch") if name in found]
    check(programs == (["segue", "pytorch"] if find_spec("torch") else ["segue"]), f"compare_head: {programs}")
    for name in programs:
        times, both = found[name]["loss"], found[name]["loss and gradient"]
        check(0 < times["seconds_range"][0] <= times["seconds"] and both["flops"] == 3 * times["flops"], f"compare_head: {found[name]}")
        check(sum(found[name]["cluster_tokens"]) == 40, f"compare_head: {found[name]}")


def compare_sparse(program):
    call(program, "compare_sparse", "--patterns", "strided", "causal", "--tgt-len", "128", "64", "64", "--mem-len", "3", "--rounds", "1",
         *ONCE, *MEASURED, *peer(), "--output", "out/sparse")
    found = results(program, "out/sparse", "json", "md", "svg")
    points = found["patterns"]["causal"]["points"]
    check([point["tgt_len"] for point in points] == [64, 128], f"compare_sparse: {points}")
    pairs = [point["pairs_per_head"] for point in points]
    check(pairs == [3 * length + length * (length + 1) / 2 for length in (64, 128)], f"compare_sparse: {pairs} pairs")
    check(("ratio" in points[0]) == (find_spec("torch") is not None), f"compare_sparse: {points}")
    call(program, "compare_sparse", "--patterns", "window", "dilated", "--tgt-len", "64", "--distances", "--no-peer", "--rounds", "2", *ONCE,
         *MEASURED, "--output", "out/distances")
    found = results(program, "out/distances", "json", "md", "svg")
    check(found["distances"] and found["patterns"]["window"]["points"][0]["tiles"] == 8, f"compare_sparse: {found['patterns']}")


def compare_states(program):
    beside = peer() if find_spec("fla") else ["--no-peer"]
    call(program, "compare_states", "--kinds", "linear", "gated_delta", "--tgt-len", "64", "--context", "128", "64", "--longest-prompt", "64",
         "--tokens", "3", "--heads", "2", "--d-head", "8", *sets(*TINY, "training.tgt_len=8"), "--rounds", "1", *ONCE, *MEASURED, *beside,
         "--output", "out/states")
    found = results(program, "out/states", "json", "md", "svg")
    check(list(found["contexts"]) == ["64", "128"] and found["generated"] == 3, f"compare_states: {found['contexts']}")
    states = [context["gated_delta"]["bytes"]["best"] for context in found["contexts"].values()]
    check(states == [4 * 2 * 8 * 8] * 2, f"compare_states: bytes of a state {states}")
    check(found["contexts"]["128"]["attention"]["bytes"]["best"] == 128 * 2 * 4 * 2 * 8, "compare_states: bytes of keys and values")
    check(set(found["speeds"]["64"]) == {"gated_delta", "attention"} > set(found["speeds"]["128"]), f"compare_states: {found['speeds']}")
    check((found["torch"] is not None) == ("--python" in beside), f"compare_states: {found['torch']}")


def exchange_hosts(program):
    words = ["--build", f"one={BUILD}", "--build", f"two={BUILD}", *sets(*TINY), "--hosts", "2", "--samples", "1", "--rounds", "1"]
    done = subprocess.run([sys.executable, "-B", BENCHMARKS / "exchange_hosts", *words, "--output", "out/hosts"], cwd=program.directory,
                          env=program.environment, capture_output=True, text=True)
    cannot = re.search("expected to be permitted|not installed|built without MPI", done.stderr)
    if done.returncode != 0 and cannot:
        check(len(done.stderr.splitlines()) == 1, f"exchange_hosts: {done.stderr}")
        print(f"not run: {done.stderr.strip()}", flush=True)
        return
    check(done.returncode == 0, f"exchange_hosts: exit {done.returncode}\n{done.stdout}{done.stderr}")
    found = results(program, "out/hosts", "json", "md")
    refused(program, "exchange_hosts", [*words, *sets("model.n_head=0")], ["a job failed", "model.n_head"])
    for name in ("one", "two"):
        (times,) = found[name]["times"]
        number, unit = found[name]["predicted"].split()
        predicted = float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20}[unit]
        check(times["exchange alone"] > 0 and len(found[name]["sent"]) == 2, f"exchange_hosts: {found[name]}")
        check(all(sent > 0.9 * predicted for sent in found[name]["sent"]), f"exchange_hosts: {found[name]}")


def feature_error(program):
    out, _ = call(program, "feature_error", "--build", BUILD, "--output", "out/features")
    found = results(program, "out/features", "json", "svg")
    check(list(found["errors"]) == [str(2**power) for power in range(2, 9)], f"feature_error: {list(found['errors'])}")
    check(-0.7 < found["slope"] < -0.3 and out.count("\n|") >= 8, f"feature_error: {found['slope']}\n{out}")


def loss_by_position(program):
    if not has("loss_by_position", "h5py", "numpy"):
        return
    import h5py
    import numpy
    config = config_of(program)
    for seed in (1, 2, 3, 4):
        program.run("train", config, *sets(f"seed={seed}"), "--run", f"runs/{seed}", "--quiet")
        program.run("eval", "--checkpoint", f"runs/{seed}", "--data", "text", "--batch-size", "4", "--max-tokens", "1000", "--per-token",
                    "--output", f"eval/{seed}", "--quiet")
    files = [str(next(pathlib.Path(program.path("eval", str(seed))).glob("*.h5"))) for seed in (1, 2, 3, 4)]
    out, _ = call(program, "loss_by_position", f"a={files[0]},{files[1]}", f"b={files[2]},{files[3]}", "--streams", "4", "--output", "out/position")
    found = results(program, "out/position", "json", "svg")
    losses = []
    for file in files[:2]:
        with h5py.File(file) as data:
            losses.append(numpy.asarray(data["nll"], float).reshape(4, -1)[:, 1:17].mean(axis=1) / math.log(2))
    of_text, of_seeds = numpy.mean(losses, axis=0).std(ddof=1) / 2, numpy.mean(losses, axis=1).std(ddof=1) / math.sqrt(2)
    row = found["groups"]["a"][0]
    check((row["from"], row["to"]) == (0, 15) and math.isclose(row["bits"], numpy.mean(losses)), f"loss_by_position: {row}")
    check(math.isclose(row["confidence95"], math.hypot(3.182446 * of_text, 12.706205 * of_seeds), rel_tol=1e-5), f"loss_by_position: {row}")
    check(found["unit"] == "byte" and "difference" in found["groups"]["b"][0] and out.count("\n|") > 5, f"loss_by_position: {out}")
    program.run("eval", "--checkpoint", "runs/1", "--data", "text", "--batch-size", "10", "--max-tokens", "1500", "--per-token", "--output",
                "eval/ten", "--quiet")
    alone = next(pathlib.Path(program.path("eval", "ten")).glob("*.h5"))
    call(program, "loss_by_position", f"alone={alone}", "--streams", "10", "--output", "out/alone")
    results(program, "out/alone", "json", "svg")
    program.write("text.h5", "no HDF5")
    for words in ([f"a={files[0]}", "b=nowhere.h5"], ["a=text.h5"], [f"a={files[0]}", f"a={files[1]}"], [f"a={files[0]}", "--streams", "64"],
                  [f"a={files[0]}", f"b={files[1]},{files[2]}"], ["a"], [f"a={files[0]}", "--streams", "1"]):
        refused(program, "loss_by_position", words, [])


def config_of(program):
    """A small model on a small text, `text`."""
    program.prepare_text("text", 30000, 1)
    return program.config("small.json", data={"path": "text"}, schedule={"warmup_step": 0}, evaluation={"interval": 0},
                          model={"n_layer": 1, "n_head": 2, "d_model": 16, "d_head": 8, "d_inner": 16, "mem_len": 8, "dropout": 0.0},
                          training={"batch_size": 2, "tgt_len": 8, "max_step": 2, "threads": 1})


def memory_pays(program):
    config_of(program)
    words = ["words=text", "--plan", "tiny:0.0025,0.004", "small:0.0025", "--seeds", "2", "--measured", "500", "--workers", "1", "--build", BUILD,
             "--runs", "runs"]
    call(program, "memory_pays", *words, "--output", "out/pays")
    found = results(program, "out/pays", "json", "svg")
    check([(row["size"], row["tokens"]) for row in found["rows"]] == [("tiny", 2048), ("tiny", 3584), ("small", 2048)],
          f"memory_pays: {found['rows']}")
    for row, name in zip(found["rows"], ("tiny-0.0025", "tiny-0.004", "small-0.0025")):
        compared = read_json(program.path("runs", "words", name, "runs", "result.json"))
        check_bits(compared, {f"{variant['name']}, memory {loss['mem_len']}": loss for variant in compared["variants"]
                              for loss in variant["losses"]}, row["bits_per_byte"])
        check(all(len(one["seeds"]) == 2 for one in row["differences"].values()), f"memory_pays: {row}")
    _, said = call(program, "memory_pays", *words, "--output", "out/again")
    check("3 of 3 comparisons" in said and results(program, "out/again", "json", "svg") == found, f"memory_pays: again: {said}")
    refuse_tokens_without_bytes(program, "memory_pays", ["words=tokens", "--plan", "tiny:0.0025", "--seeds", "2", "--measured", "500"])


def check_bits(compared, losses, bits):
    """What a program says in bits per byte is what `segue compare` says."""
    for name, loss in losses.items():
        check(math.isclose(bits[name], loss["bits_per_byte"], rel_tol=1e-9), f"{name}: {bits[name]} bits per byte, {loss}")
        check(math.isclose(loss["bits_per_byte"] * math.log(2), loss["loss"] * compared["tokens_per_byte"], rel_tol=1e-9), f"{name}: {loss}")


def refuse_tokens_without_bytes(program, script, words):
    tokens = [i * i % 50 for i in range(6000)]
    program.prepare_tokens("tokens", 50, train=tokens, valid=tokens[:1000], test=tokens[:1000])
    _, said = call(program, script, *words, "--build", BUILD, "--runs", "of_tokens", "--output", "out/tokens", expect=1)
    check("tokens_per_byte: expected a number, found None" in said.splitlines()[-1], f"{script}: {said}")
    check(not os.path.exists(program.path("out/tokens.json")), f"{script}: wrote what it does not know")


def scaling_cpu(program):
    config = config_of(program)
    call(program, "scaling_cpu", "--config", config, *sets("training.batch_size=2"), "--mem-len", "8", "0", "--tgt-len", "8", "16", "--n-layer", "1", "2",
         "--rounds", "1", "--seconds", "0", *MEASURED, "--output", "out/scaling")
    found = results(program, "out/scaling", "json", "svg")
    sweeps = {(sweep["task"], sweep["key"]): sweep for sweep in found["sweeps"]}
    check(len(sweeps) == 6, f"scaling_cpu: {list(sweeps)}")
    for (_, key), sweep in sweeps.items():
        check((sweep["line"] is None) == (key == "training.tgt_len"), f"scaling_cpu: {sweep}")
        check(all(0 < point["lowest"] <= point["seconds_per_token"] <= point["highest"] for point in sweep["points"]), f"scaling_cpu: {sweep}")
    check([point["at"] for point in sweeps["training", "model.mem_len"]["points"]] == [0, 8], f"scaling_cpu: {sweeps}")


def slow_products(program):
    config = config_of(program)
    words = [config, *sets("training.tgt_len=16", "model.head.kind=adaptive", "model.head.cutoffs=[100]"), "--most-tokens", "24", "--rounds", "2", "--seconds", "0", *MEASURED]
    out, _ = call(program, "slow_products", *words, "--share", "0", "--rows", "3", "--output", "out/products")
    found = results(program, "out/products", "json", "md")
    check(out.count("\n|") == 2 + 3 and found["presets"] == ["small"] and not found["left_out"], f"slow_products: {out}")
    shares = [row["share_of_plain"] for row in found["products"]]
    check(shares == sorted(shares) and all(row["share_of_cube"] > 0 for row in found["products"]), f"slow_products: {shares}")
    rows = {tuple(row[key] for key in ("m", "n", "k", "transpose_a", "transpose_b", "accumulate", "in_thread")): row for row in found["products"]}
    for shape in ((24, 16, 16, False, True, False, False), (16, 16, 24, True, False, True, False), (24, 16, 16, False, False, False, False)):
        check(rows[shape]["capped"] and "feed forward" in str(rows[shape]["operations"]), f"slow_products: {shape} in {list(rows)}")
    check(rows[24, 16, 16, False, False, False, False]["share_of_plain"] == 1, f"slow_products: plain: {rows}")
    check({"adaptive softmax forward"} == {name for row in rows.values() if row["in_thread"] for name in row["operations"]}, f"slow_products: {rows}")
    check(len(found["parts"]) % 2 == 0, f"slow_products: rounds of {len(found['parts'])} parts")
    refused(program, "slow_products", [config, *sets("model.n_head=0"), *MEASURED], ["model.n_head"])


def recompute(program):
    out, _ = call(program, "recompute", config_of(program), "--layers", "6", "3", "--rounds", "2", "--seconds", "0", *MEASURED, "--output", "out/again")
    found = results(program, "out/again", "json", "md")
    rows = [(row["layers"], row["way"]) for row in found["rows"]]
    check(rows == [(layers, way) for layers in (6, 3) for way in ("none", "attention", "block", "reversible")], f"recompute: {rows}")
    sizes = [row["activation_mib"] for row in found["rows"]]
    check(sizes[0] > sizes[1] > max(sizes[2:4]) and sizes[4] > max(sizes[6:]), f"recompute: MiB of activations: {sizes}")
    check(out.count("\n|") == 2 + 8 and len(found["parts"]) == 16, f"recompute: {out}")


def loaded_cpu(program):
    call(program, "loaded_cpu", config_of(program), "--loads", "1", "0", "--rounds", "1", "--seconds", "0", "--tokens", "3", "--build", BUILD,
         "--busy-ok", "--output", "out/loaded")
    found = results(program, "out/loaded", "json", "md")
    points = [(row["task"], row["load"]) for row in found["rows"]]
    check(points == [(task, load) for task in ("training", "evaluation", "generation", "scoring") for load in (0, 1)], f"loaded_cpu: {points}")
    for row in found["rows"]:
        check(len(row["ways"]) == 4 and all(0 < way["lowest"] <= way["median"] <= way["highest"] for way in row["ways"].values()), f"loaded_cpu: {row}")
    typed = [part["command"] for part in found["parts"] if "GOMP_SPINCOUNT=" not in part["command"] and "OMP_WAIT_POLICY=" not in part["command"]]
    check(len(typed) == len(points), f"loaded_cpu: as typed: {typed}")


def compare_tokenizers(program):
    letters = [chr(i) if 33 <= i < 127 else chr(256 + n) for n, i in enumerate(range(128))]
    model = {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(dict.fromkeys([*letters, *map(chr, range(161, 324))]))}, "merges": []}
    plain = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = program.write("tokenizer.json", json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": plain,
                                                            "post_processor": None, "decoder": plain, "model": model}))
    text = program.write("book.txt", "it was the best of times\n" * 200)
    peer_of_tokens = ["--python", sys.executable] if find_spec("tokenizers") else ["--no-peer"]
    call(program, "compare_tokenizers", tokenizer, text, "--rounds", "2", *peer_of_tokens, "--build", BUILD, "--busy-ok", "--output", "out/tokenizers")
    found = results(program, "out/tokenizers", "json", "md")
    segue = found["programs"]["Segue"]
    check(segue["tokens"] == 5000 and len(segue["megabytes_per_second"]) == 2 and segue["best"] > 0, f"compare_tokenizers: {segue}")
    check(all(other["tokens"] == 5000 for other in found["programs"].values()), f"compare_tokenizers: {found['programs']}")


def stale_keys(program):
    config_of(program)
    comparison = {"base": "small.json", "budget": {"kind": "tokens", "amount": 64}, "seeds": [1, 2], "measure": {"max_tokens": 500},
                  "variants": [{"name": "hidden_states"}, {"name": "keys_values", "set": ["model.memory.kind=keys_values"]}]}
    words = ["--comparison", program.write("comparison.json", json.dumps(comparison)), "--rounds", "2", *sets("training.tgt_len=4")]
    call(program, "stale_keys", "text", *words, "--mem-len", "16", "8", "--build", BUILD, "--runs", "runs", "--output", "out/stale")
    found = results(program, "out/stale", "json", "svg")
    check([row["mem_len"] for row in found["rows"]] == [8, 16], f"stale_keys: {found['rows']}")
    for row in found["rows"]:
        compared = read_json(program.path("runs", str(row["mem_len"]), "result.json"))
        check("training.tgt_len=4" in compared["set"], f"stale_keys: {compared['set']}")
        check_bits(compared, {variant["name"]: variant["losses"][0] for variant in compared["variants"]}, row["bits_per_byte"])
        both = row["bits_per_byte"]
        check(math.isclose(row["difference"], both["keys_values"] - both["hidden_states"], abs_tol=1e-9), f"stale_keys: {row}")
        check(row["confidence95"] >= 0 and len(row["ratios"]) == 2 and min(row["ratios"]) > 0, f"stale_keys: {row}")
    refuse_tokens_without_bytes(program, "stale_keys", ["tokens", *words, "--mem-len", "8"])
    for change, says in (({"variants": comparison["variants"][:1]}, "expected the variants"), ({"seeds": [1]}, "seeds: expected two"),
                         ({"base": 3}, "expected a base"), ({"variants": 3}, "expected a base")):
        program.write("other.json", json.dumps({**comparison, **change}))
        refused(program, "stale_keys", ["text", "--comparison", "other.json"], ["other.json", says])


def state_rounding(program):
    if not has("state_rounding", "torch"):
        return
    out, _ = call(program, "state_rounding", "--draws", "2", "--output", "out/rounding")
    found = results(program, "out/rounding", "json", "md")
    check(len(found["rows"]) == 12 and all(0 < row["differences"][0] <= row["differences"][1] < 0.1 for row in found["rows"]), f"{found}")
    check(out.count("\n|") == 13, f"state_rounding:\n{out}")
    refused(program, "state_rounding", ["--draws", "0"], ["--draws", "at least 1"])


PERF = """#!{python}
# Stands in for perf: runs what it shall record, and tells of two threads that run in its steps and one that hardly does.
import json, os, subprocess, sys
words = sys.argv[1:]
if os.environ.get("PERF_FAILS"):
    sys.exit("perf: not permitted\\nor whatever it says besides")
if words[0] == "record":
    end = words.index("--output") + 2
    subprocess.run(words[end:], check=True)
    found = words[words.index("--json") + 1]
    report = json.load(open(found))
    step = report["measurements"][0]
    step["seconds_lowest"] = 1 / (step["samples"] * step["calls_per_sample"])  # the steps took a second
    json.dump(report, open(found, "w"))
    open(words[end - 1], "w").close()
else:
    open(words[words.index("--input") + 1]).close()
    places = {{11: ["(/x/segue)"] * 14 + ["(/x/libgomp.so.1)"] * 4 + ["([kernel.kallsyms])"] * 2, 12: ["(/x/segue)"] * 19 + ["([vdso])"]}}
    for thread, kinds in places.items():
        for i in range(1050):  # some come before the steps
            print(f"  {{thread}}  {{100 - i / 1000:.6f}}:  55d0f00 {{kinds[i % 20]}}")
    print("  13  99.999000:  55d0f00 (/x/segue)")
"""


def thread_idle(program):
    config = config_of(program)
    folder = pathlib.Path(program.path("bin"))
    folder.mkdir()
    (folder / "perf").write_text(PERF.format(python=sys.executable))
    (folder / "perf").chmod(stat.S_IRWXU)
    words = [config, *sets("model.mem_len=16"), "--vocab-size", "50", "--seconds", "0", "--build", BUILD]
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    out, _ = call(program, "thread_idle", *words, "--threads", "2", "--output", "out/idle", expect=1, **path)
    found = results(program, "out/idle", "json", "md")
    check(list(found["threads"]) == ["11", "12"] and math.isclose(found["idlest"], 0.3, abs_tol=0.01), f"thread_idle: {found}\n{out}")
    spinning, kernel = (found["threads"]["11"][kind] for kind in ("spinning", "kernel"))
    check(math.isclose(spinning, 0.2, abs_tol=0.01) and math.isclose(kernel, 0.1, abs_tol=0.01), f"thread_idle: {found}")
    call(program, "thread_idle", *words, "--threads", "1", "--most-idle", "0.5", **path)
    for more, environment, says in ((["--threads", "3"], {}, "expected 3 threads"), ([], {"PERF_FAILS": "1"}, "perf record returned 1"),
                                    (sets("model.n_head=0"), {}, "model.n_head")):
        _, said = call(program, "thread_idle", *words, *more, expect=2, **path, **environment)
        check(len(said.splitlines()) == 1 and says in said, f"thread_idle {more}: {said}")
    probe = ["perf", "record", "--quiet", "--event", "cpu-clock", "--output", program.path("probe"), "true"]
    if shutil.which("perf") is None or subprocess.run(probe, capture_output=True).returncode != 0:
        print("not run: thread_idle with perf itself, which is not here or not permitted", flush=True)
        return
    out, _ = call(program, "thread_idle", *words, "--seconds", "0.3", "--threads", "1", "--most-idle", "1")
    check("1 threads during" in out, f"thread_idle, with perf: {out}")


def matmul_peak(program):
    binary = BUILD / "benchmarks" / "matmul_peak"
    if not binary.is_file():
        print("not run: matmul_peak: this build has no benchmarks (SEGUE_BENCHMARKS)", flush=True)
        return
    for words, says in ((["3x5"], "'3x5'"), (["0x5x7"], "'0x5x7'"), (["--cubes", "0"], "--cubes"), (["--threads", "0"], "--threads"), (["--bad"], "--bad")):
        done = subprocess.run([binary, *words], capture_output=True, text=True)
        check(done.returncode == USAGE and len(done.stderr.splitlines()) == 1 and says in done.stderr, f"matmul_peak {words}: {done}")
    done = subprocess.run([binary, "--help"], capture_output=True, text=True)
    check(done.returncode == 0 and "Example: matmul_peak" in done.stdout, f"matmul_peak --help: {done}")
    done = subprocess.run([binary, "--seconds", "0", "--threads", "1", "--cubes", "16,8", "3x5x7"], capture_output=True, text=True)
    found = json.loads(done.stdout)["products"]
    check([product["shape"] for product in found[::2]] == ["16x16x16", "8x8x8", "3x5x7"], f"matmul_peak: {found}")


# Help and refusals.

PARTS = {part.__name__: part for part in (memory_pays, stale_keys, compare_states, compare_cpu, compare_sparse, scaling_cpu, slow_products, recompute, usage, exchange_hosts, loaded_cpu, compare_tokenizers,
                                          thread_idle, loss_by_position, state_rounding, compare_head, matmul_peak, feature_error)}


def files_of_the_tree():
    """Those that a program that measures might write: it shall write where it is told to, alone."""
    return {path for path in BENCHMARKS.rglob("*") if "__pycache__" not in path.parts} | {path for path in [ROOT / "runs"] if path.exists()}


def run_part(name):
    """Whether it passed."""
    began = time.monotonic()
    try:
        PARTS[name](Program())
    except (Exception, SystemExit) as failure:
        print(f"{name}: {type(failure).__name__}: {failure}", flush=True)
        return False
    print(f"{time.monotonic() - began:6.2f} s {name}", flush=True)
    return True


def main():
    before = files_of_the_tree()
    names = sys.argv[3:] or [name for name in PARTS if name != "feature_error"]
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        passed = list(workers.map(run_part, names))
    check(all(passed), " ".join(name for name, one in zip(names, passed) if not one))
    check(files_of_the_tree() == before, f"written into the repository: {files_of_the_tree() ^ before}")


if __name__ == "__main__":
    main()
