"""segue bench: tables and JSON that agree with themselves and with the count of FLOPs that the peers use.

The second argument is the program with the emulated GPU.
"""

import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "peers"))
from flops import training_flops_per_token, visible_keys_per_query  # noqa: E402
from program import TINY_MODEL, Program, check, cpu_flags  # noqa: E402
from sizes import Sizes  # noqa: E402

USAGE, CONFIG, DEVICE = 2, 3, 7
QUICK = ("--warm-up", 1, "--samples", 3, "--sample-seconds", 0.001, "--peak-product", 64, "--copy-bytes", 65536)
SHAPE = {"batch-size": 2, "heads": 3, "d-head": 8, "tgt-len": 5, "mem-len": 7}


def check_columns(output, names):
    """Every number stands below the end of its heading, and all fit a terminal."""
    check(all(len(line) <= 80 for line in output.splitlines()), f"wider than 80 columns:\n{output}")
    width = max(map(len, names))
    parts = [part.splitlines() for part in output.split("\n\n") if not part.startswith(tuple(names))
             and any(f"\n{name} " in part for name in names)]
    check(parts and "ms, median" in parts[0][0], f"no table:\n{output}")
    for head, *rows in parts:
        ends = {match.end() for match in re.finditer(r"\S+( \S+)*", head)}
        check(head[:width].strip() == "" and [row[:width].strip() for row in rows] == names, f"other rows:\n{output}")
        for row in rows:
            numbers = {match.end() for match in re.finditer(r"\S+", row) if match.start() >= width}
            check(numbers <= ends, f"a number without a heading:\n{head}\n{row}")


def bench(program, *arguments):
    output, _ = program.run("bench", *arguments, *QUICK, "--json", "result.json")
    with open(program.path("result.json")) as file:
        result = json.load(file)
    check_columns(output, [found["name"] for found in result["measurements"]])
    for found in result["measurements"]:
        check(found["name"] in output, f"{found['name']} is not in the table:\n{output}")
        check(0 < found["seconds_lowest"] <= found["seconds"] <= found["seconds_highest"], f"not in order: {found}")
        check(math.isclose(found["flops"] / found["seconds"], found["flops_per_second"]), f"another rate: {found}")
        check(math.isclose(found["flops_per_second"] / result["peak_flops_per_second"], found["share_of_peak"]),
              f"another share: {found}")
    return result


def shape_options(**changes):
    return [word for name, value in {**SHAPE, **changes}.items() for word in ("--" + name, value)]


def test_attention(program, device, *precision):
    forward, both = bench(program, "attention", *shape_options(), "--device", device, *precision)["measurements"]
    pairs = sum(7 + i + 1 for i in range(5)) * 2 * 3
    check(forward["flops"] == 3 * 2 * 8 * pairs, f"forward: {forward['flops']} FLOPs")
    check(both["flops"] == 9 * 2 * 8 * pairs, f"forward and backward: {both['flops']} FLOPs")
    (windowed,) = bench(program, "attention", *shape_options(window=4), "--device", device, *precision,
                        "--forward-only")["measurements"]
    check(windowed["flops"] == 3 * 2 * 8 * 5 * 4 * 2 * 3, f"window: {windowed['flops']} FLOPs")
    every_fourth = '{"kind": "sparse", "patterns": [{"kind": "strided", "stride": 4}]}'
    (strided,) = bench(program, "attention", *shape_options(), "--device", device, *precision, "--forward-only",
                       "--visibility", every_fourth)["measurements"]
    check(strided["flops"] == 3 * 2 * 8 * (2 + 3 + 3 + 3 + 3) * 2 * 3, f"strided: {strided['flops']} FLOPs")
    forward, both = bench(program, "attention", *shape_options(), "--device", device, *precision,
                          "--no-distances")["measurements"]
    check((forward["flops"], both["flops"]) == (2 * 2 * 8 * pairs, 6 * 2 * 8 * pairs), f"no distances: {forward}, {both}")


def test_counts_of_heads(program):
    """Pairs and tiles, the means over a head that sees itself and two that see every 64th key."""
    patterns = [{"kind": "window", "heads": [0], "window": 1}, {"kind": "strided", "heads": [1, 2], "stride": 64}]
    setting = bench(program, "attention", *shape_options(**{"tgt-len": 130, "mem-len": 64}), "--device", "cpu",
                    "--forward-only", "--visibility", json.dumps({"kind": "sparse", "patterns": patterns}))["setting"]
    strided = {"pairs": 64 * 2 + 64 * 3 + 2 * 4, "tiles": 2 + 3 + 4}
    check(setting["pairs"] == (130 + 2 * strided["pairs"]) / 3, f"pairs: {setting['pairs']}")
    check(setting["tiles"] == (3 + 2 * strided["tiles"]) / 3, f"tiles: {setting['tiles']}")


def test_state(program, device, *precision):
    shape = ("--batch-size", 2, "--heads", 3, "--d-head", 8, "--tgt-len", 21, "--device", device, *precision)
    product = 2 * 2 * 3 * 21 * 8 * 8
    for decay in ("none", "fixed", "token", "channel"):
        result = bench(program, "state", *shape, "--decay", decay)
        forward, both = result["measurements"]
        check((forward["flops"], both["flops"]) == (2 * product, 6 * product), f"{decay}: {forward}, {both}")
        check(math.isclose(forward["tokens_per_second"] * forward["seconds"], 42), f"{decay}: {forward}")
        setting = result["setting"]
        kept = 1 if device == "cpu" else 2  # states: every 64 tokens of the CPU's, every 16 of a GPU's
        check(setting["state_bytes"] == 4 * 2 * 3 * 8 * 8 and setting["kept_bytes"] == kept * setting["state_bytes"], f"{setting}")
        (erasing,) = bench(program, "state", *shape, "--decay", decay, "--erases", "--forward-only")["measurements"]
        check(erasing["flops"] == 3 * product, f"{decay}, erasing: {erasing}")


def test_memory_is_linear(program):
    sizes = [bench(program, "attention", *shape_options(**{"mem-len": length}), "--device", "cpu")["setting"]
             for length in (128, 256, 384)]
    first, second, third = (size["tensor_bytes"] + size["workspace_bytes"] for size in sizes)
    check(third - second == second - first, f"memory of 128, 256 and 384 rows: {first}, {second}, {third} bytes")


def test_step(program, device):
    for pre_lnorm in (False, True):
        config = program.config("step.json", data={"path": "none"}, model=dict(TINY_MODEL, block={"pre_lnorm": pre_lnorm}),
                                training={"batch_size": 4, "tgt_len": 6, "batch_chunk": 2})
        result = bench(program, "step", config, "--vocab-size", 50, "--device", device)
        (step,) = result["measurements"]
        sizes = Sizes(vocab_size=50, **TINY_MODEL, pre_lnorm=pre_lnorm)
        expected = training_flops_per_token(sizes, tgt_len=6, batch=4) * 4 * 6
        check(math.isclose(step["flops"], expected), f"step: {step['flops']} FLOPs, the peer counts {expected}")
        check(math.isclose(step["tokens_per_second"] * step["seconds"], 4 * 6), f"tokens: {step}")
        made_twice = 4 * TINY_MODEL["n_layer"] * TINY_MODEL["n_head"] * TINY_MODEL["d_head"] * TINY_MODEL["d_model"] * (
            TINY_MODEL["mem_len"] + 6)  # the rows of distances, once for every chunk
        check_profile(result["profile"], expected + made_twice)


def check_profile(profile, flops):
    parts = profile["parts"]
    seconds = sum(part["seconds"] for part in parts) + profile["seconds_elsewhere"]
    check(math.isclose(seconds, profile["seconds"]), f"profile: parts of {seconds} s, a step of {profile['seconds']} s")
    check(0 <= profile["seconds_elsewhere"] < profile["seconds"], f"profile: {profile}")
    check(math.isclose(sum(part["flops"] for part in parts), flops), f"profile: other FLOPs than {flops}: {parts}")
    check(all(part["flops"] + part["bytes"] > 0 and part["calls"] >= 1 for part in parts), f"profile: {parts}")
    around = {"clear_gradients", "memory_update", "gradient_norm", "optimizer"}
    check(around == {part["name"] for part in parts if not part["pass"]}, f"profile: {parts}")


def test_gemm(program):
    first, second, third = bench(program, "gemm", "16,8,4", "5,3,2,bT", "5,3,2,aT,+", "--device", "cpu")["measurements"]
    check((first["flops"], first["bytes"]) == (2 * 16 * 8 * 4, 4 * (16 * 4 + 8 * 4 + 16 * 8)), f"gemm: {first}")
    check((second["name"], second["flops"], second["bytes"]) == ("5,3,2,bT", 2 * 5 * 3 * 2, 4 * (5 * 2 + 3 * 2 + 5 * 3)), f"gemm: {second}")
    check((third["name"], third["bytes"]) == ("5,3,2,aT,+", 4 * (5 * 2 + 3 * 2 + 2 * 5 * 3)), f"gemm: {third}")


def test_bfloat16(program):
    """On processors that have such products, as oneDNN is told that this one has not."""
    command = ("bench", "gemm", "16,8,4", "--precision", "bf16", "--device", "cpu", *QUICK)
    program.environment["DNNL_MAX_CPU_ISA"] = "AVX2"
    _, errors = program.run(*command, expect=CONFIG)
    del program.environment["DNNL_MAX_CPU_ISA"]
    check("no bf16 products" in errors, f"bf16 refused: {errors}")
    if "avx512_bf16" in cpu_flags():
        output, _ = program.run(*command)
        check("16,8,4" in output, f"bf16: {output}")


def test_head(program, device):
    result = bench(program, "head", "--vocab-size", 50, "--cutoffs", "10,20", "--div-val", 2, "--d-model", 16, "--tokens", 40,
                   "--device", device)
    loss, both = result["measurements"]
    setting = result["setting"]
    tails = sum(count * (16 * width + width * words)
                for count, width, words in zip(setting["cluster_tokens"][1:], (8, 4), (10, 30)))
    check(sum(setting["cluster_tokens"]) == 40 > setting["cluster_tokens"][0] > 0, f"head: {setting}")
    check(loss["flops"] == 2 * (40 * 16 * 12 + tails), f"head: {loss['flops']} FLOPs")
    check(both["flops"] == 3 * loss["flops"], f"head: {both['flops']} FLOPs with gradients")
    check(setting["logits_bytes"] == 4 * 40 * 50 and setting["scratch_bytes"] > 0, f"head: {setting}")


def test_eval_speed(program, device):
    config = program.config("eval.json", data={"path": "none"}, model=TINY_MODEL)
    result = bench(program, "eval-speed", config, "--vocab-size", 50, "--lengths", "9,14", "--batch-size", 2, "--tgt-len", 5,
                   "--device", device)
    keys, states, window = result["measurements"][:3]
    layers, width, d_model = TINY_MODEL["n_layer"], TINY_MODEL["n_head"] * TINY_MODEL["d_head"], TINY_MODEL["d_model"]
    made_anew = 2 * layers * d_model * width * (2 * 2 * 9 + 9 + 5)  # keys and values of 2 streams, rows of distances
    check(states["flops"] - keys["flops"] == made_anew, f"{states['flops']} - {keys['flops']}, expected {made_anew}")
    for ratios, first in zip(result["setting"]["ratios"], (0, 3)):
        keys, states, window = (m["seconds"] / tokens
                                for m, tokens in zip(result["measurements"][first:first + 3], (10, 10, 2)))
        check(math.isclose(ratios["keys_and_values"], window / keys), f"{ratios}")
        check(math.isclose(ratios["hidden_states"], window / states), f"{ratios}")
        check(1 < ratios["operations"], f"{ratios}")


def test_evaluation(program):
    config = program.config("eval.json", data={"path": "none"}, model=TINY_MODEL,
                            training={"batch_size": 2, "tgt_len": 5})
    (found,) = bench(program, "eval", config, "--vocab-size", 50, "--device", "cpu")["measurements"]
    sizes = Sizes(vocab_size=50, **TINY_MODEL)
    width = sizes.n_head * sizes.d_head
    products = 4 * sizes.d_model * width + 2 * sizes.d_model * sizes.d_inner + 3 * width * visible_keys_per_query(sizes, 5)
    expected = 2 * 10 * (sizes.n_layer * products + sizes.d_model * sizes.vocab_size)  # memory's keys and values are kept
    check(math.isclose(found["flops"], expected), f"eval: {found['flops']} FLOPs, expected {expected}")
    check(math.isclose(found["tokens_per_second"] * found["seconds"], 10), f"eval: {found}")


def test_refusals(program):
    for code, word, *arguments in (
            (USAGE, "--link", "exchange", "any.json", "--latency", 1), (USAGE, "M,N,K", "gemm", "16,8"), (USAGE, "M,N,K", "gemm", "16,8,0"), (USAGE, "M,N,K", "gemm", "16,8,4x"),
            (USAGE, "aT, bT and +", "gemm", "16,8,4,cT"), (USAGE, "aT, bT and +", "gemm", "16,8,4,aT,aT"), (USAGE, "M,N,K", "gemm", ","), (USAGE, "M,N,K", "gemm", "16,8,4,"),
            (CONFIG, "cutoffs", "head", "--vocab-size", "50", "--cutoffs", "20,60"),
            (CONFIG, "cutoffs", "head", "--vocab-size", "50", "--cutoffs", "20,10"),
            (USAGE, "--d-head", "state", "--d-head", 257), (USAGE, "--decay", "state", "--decay", "slow"),
            (CONFIG, "gpu", "gemm", "1,1,1", "--device", "gpu")):
        device = () if "--device" in arguments else ("--device", "cpu")
        _, errors = program.run("bench", *arguments, *device, expect=code)
        check(word in errors, f"{arguments}: expected {word!r} in {errors}")


def main():
    program, emulating = Program(), Program()
    emulating.binary = sys.argv[2]
    test_attention(program, "cpu")
    test_attention(emulating, "cuda", "--precision", "bf16")
    test_state(program, "cpu")
    test_state(emulating, "cuda", "--precision", "bf16")
    test_counts_of_heads(program)
    test_memory_is_linear(program)
    test_step(program, "cpu")
    test_step(emulating, "cuda")
    test_evaluation(program)
    test_eval_speed(program, "cpu")
    test_eval_speed(emulating, "cuda")
    test_gemm(program)
    test_bfloat16(program)
    test_head(program, "cpu")
    test_head(emulating, "cuda")
    test_refusals(program)


if __name__ == "__main__":
    main()
