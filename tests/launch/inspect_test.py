"""The parameters of every published experiment, counted from its config to the unit, without data and in little memory;
and what heads see, drawn and counted.

The sums are those of closed formulas, of which the one of WikiText-103 large is also what the authors' code prints.
"""

import json
import os
import resource
import tempfile

from program import TINY_MODEL, Program, check, refused

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs")
MOST_MEMORY_MIB = 512  # the largest model's weights alone are 3 GiB

UNTIED = ("--set", "model.position.untie_r=true")

# Config, further arguments, parameters: all, of the layers, of the embedding with its projections.
EXPERIMENTS = [
    ("paper/enwik8_base", (), 41055436, 40949760, 104448),
    ("paper/text8_base", (), 40964635, 40949760, 13824),
    ("paper/enwik8_large", (), 277231820, 277020672, 208896),
    ("paper/text8_large", (), 277050395, 277020672, 27648),
    ("paper/wt103_base", (), 151107538, 41066400, 109771350),
    ("paper/wt103_base", UNTIED, 151119838, 41066400, 109771350),
    ("paper/wt103_base", UNTIED + ("--vocab-size", 267744), 151123537, 41066400, 109775040),
    ("nvidia/wt103_base", (), 191950298, 54599680, 137080320),
    ("paper/wt103_large", (), 285170506, 245532672, 38316400),
    ("paper/wt103_large", UNTIED, 285205322, 245532672, 38316400),
    ("nvidia/wt103_large", (), 285167482, 245532672, 38313376),
    ("paper/lm1b_base", (), 357812082, 245532672, 110088176),
    ("paper/lm1b_base_paper", (), 469020530, 356741120, 110088176),
    ("paper/lm1b_large", (), 841295982, 700274688, 138045420),
    ("paper/ptb", (), 24015760, 20004960, 4000000),
    ("family/published/longformer_text8", (), 40965659, 40949760, 13824),
    ("family/published/longformer_enwik8", (), 41056460, 40949760, 104448),
    ("family/published/longformer_enwik8_large", (), 102481100, 102374400, 104448),
    ("family/published/sparse_fixed_enwik8", (), 101064960, 94510080, 6422528),
    ("family/published/strided_enwik8", (), 101064960, 94510080, 6422528),
    ("family/published/adaptive_span_text8", (), 37831803, 37804128, 13824),
    ("family/published/adaptive_span_text8_large", (), 207850203, 207808704, 20736),
    ("family/published/adaptive_span_enwik8", (), 38066528, 37804128, 131072),
    ("family/published/adaptive_span_enwik8_large", (), 208202176, 207808704, 196608),
    ("family/published/bigbird_base", (), 126889399, 85017600, 41821440),
    ("family/published/etc_base", (), 129900091, 106251264, 23441664),
    ("family/published/etc_base", ("--set", "model.global_stream.projections=shared"), 108666427, 85017600, 23441664),
    ("family/published/blockwise_base_512", (), 108883003, 85017600, 23834880),
    ("family/published/blockwise_base_1024", (), 109275451, 85017600, 24227328),
]
FOLDERS = ("paper", "nvidia", "family/published")
# Their windows are so long that it takes half a minute to list what they see, once for a count.
SLOW_TO_PLAN = "family/published/longformer"


def sums(text):
    """The lines behind the table of parameters."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("all "))
    return [int(line.split()[-1].replace(",", "")) for line in lines[start:start + 3]]


def masks(program):
    """What heads see, drawn and counted: of longformer, whose windows grow from 16 to 128."""
    config = os.path.join(CONFIGS, "family", "longformer.json")
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "seen.svg")
        output, _ = program.run("inspect", config, "--mask", picture)
        pairs = [line.split()[2].replace(",", "") for line in output.splitlines() if "%" in line][:5]
        check(pairs == [str(64 * keys) for keys in (16, 32, 64, 128, 64)], f"pairs of longformer: {pairs}")
        with open(picture, encoding="utf-8") as file:
            drawn = file.read()
        for title in ("(layer 0)", "(layer 3, heads 0-1)", "(layer 3, heads 2-3)"):
            check(title in drawn, f"{title} is not drawn")
        refused(program, 2, "inspect", config, "--mask", os.path.join(folder, "seen.png"),
                says=("--mask: expected a file named *.svg",))
        refused(program, 2, "inspect", folder, "--mask", picture, says=("--mask: expected a config",))


def json_of(program, *arguments):
    output, errors = program.run("inspect", *arguments, "--json")
    inspected = json.loads(output)
    check((inspected["format"], inspected["version"], errors) == ("segue-inspection", 1, ""), f"{arguments}: {errors}")
    return inspected


def as_json(program):
    """A config, a dataset and a run as one object each, with the numbers of the tables."""
    config = os.path.join(CONFIGS, "paper", "enwik8_base.json")
    inspected = json_of(program, config)
    check(inspected["kind"] == "config" and inspected["config"]["model"] == inspected["model"]["config"], "the config")
    parameters = inspected["model"]["parameters"]
    check((parameters["all"], parameters["layers"], parameters["embedding"]) == (41055436, 40949760, 104448), parameters)
    check(sum(tensor["elements"] for tensor in inspected["model"]["tensors"] if tensor["is_learned"]) == parameters["all"],
          "elements of tensors")
    training = inspected["model"]["training"]
    check(training["bytes"] == sum(value for key, value in training.items() if key.endswith("_bytes")), f"{training}")

    program.prepare_text("text", 4000, seed=2)
    inspected = json_of(program, "text")
    splits = {split["name"]: split for split in inspected["splits"]}
    check(inspected["kind"] == "dataset" and inspected["vocab_size"] == 256 and not inspected["is_verified"], "the dataset")
    check([splits[name]["tokens"] for name in ("train", "valid", "test")] == [3200, 400, 400], f"{splits}")
    check(splits["test"]["text"]["begin"] == 3600 and splits["test"]["dataset"].startswith("tokens:xxh3:"), f"{splits}")
    check(inspected["manifest"]["format"] == "segue-dataset", "the manifest")
    output, _ = program.run("inspect", "text", "--verify", "--json")
    check(json.loads(output)["is_verified"], "--verify")

    tiny = program.config("tiny.json", data={"path": "text"}, model=TINY_MODEL, checkpoint={"interval": 0},
                          evaluation={"interval": 0}, training={"batch_size": 2, "tgt_len": 8, "max_step": 2})
    program.run("train", tiny, "--run", "run", "--quiet")
    inspected = json_of(program, "run")
    check(inspected["kind"] == "checkpoint" and inspected["step"] == inspected["state"]["step"] == 2, "the checkpoint")
    check(inspected["run"] == program.path("run") and inspected["damaged"] == [] and inspected["tokenizer"] == "byte",
          f"{inspected['run']}, {inspected['tokenizer']}")
    check(inspected["config"]["data"]["path"] == "text" and inspected["model"]["vocab_size"] == 256, "the run's config")
    check(inspected["made_by"]["program"].startswith("segue "), f"{inspected['made_by']}")
    refused(program, 2, "inspect", config, "--json", "--mask", "seen.svg", says=("--json", "--mask"))
    refused(program, 2, "inspect", config, "--products", says=("--products", "--json"))
    refused(program, 2, "inspect", "run", "--products", "--json", says=("--products", "a config"))


def products(program):
    """Those of a small model with an adaptive softmax, by hand."""
    layer = {"n_layer": 2, "n_head": 2, "d_head": 4, "d_model": 16, "d_inner": 24, "mem_len": 5}
    config = program.config("products.json", data={"path": "text", "vocab_size": 40}, training={"batch_size": 3, "tgt_len": 10},
                            model=dict(layer, head={"kind": "adaptive", "cutoffs": [30]}))
    listed = json_of(program, config, "--products")["products"]
    rows = {name: {tuple(row.values())[:-1]: row["count"] for row in listed[name]} for name in ("training", "evaluation")}
    training = {
        # operation, pass, m, n, k, aT, bT, +, in a thread: how often
        ("feed_forward", "forward", 30, 24, 16, False, True, False, False): 2,
        ("feed_forward", "forward", 30, 16, 24, False, True, False, False): 2,
        ("feed_forward", "backward", 16, 24, 30, True, False, True, False): 2,
        ("feed_forward", "backward", 24, 16, 30, True, False, True, False): 2,
        ("feed_forward", "backward", 30, 24, 16, False, False, False, False): 2,
        ("feed_forward", "backward", 30, 16, 24, False, False, True, False): 2,
        ("matmul", "forward", 30, 16, 8, False, True, False, False): 2,  # the output of attention
        ("matmul", "backward", 30, 8, 16, False, False, False, False): 2,
        ("matmul", "backward", 16, 8, 30, True, False, True, False): 2,
        ("adaptive_softmax", "forward", 30, 30, 16, False, True, False, True): 1,  # frequent words
        ("adaptive_softmax", "forward", 30, 1, 16, False, True, False, True): 1,  # the gate
        ("adaptive_softmax", "forward", 30, 10, 16, False, True, False, True): 1,
        ("adaptive_softmax", "forward", 30, 16, 10, False, False, False, True): 1,
        ("adaptive_softmax", "forward", 30, 16, 1, False, False, True, True): 1,
        ("adaptive_softmax", "forward", 10, 16, 30, True, False, True, True): 1}
    for row, count in training.items():
        check(rows["training"].get(row) == count, f"training: expected {count} of {row} in {rows['training']}")
    check(("matmul", "forward", 30, 24, 16, False, True, False, False) in rows["evaluation"], f"evaluation: {rows['evaluation']}")
    check(all(key[1] == "forward" and not key[5] for key in rows["evaluation"]), f"evaluation: {rows['evaluation']}")


def main():
    program = Program()
    for name, arguments, *expected in EXPERIMENTS:
        config = os.path.join(CONFIGS, name + ".json")
        output, _ = program.run("inspect", config, *arguments)
        check(sums(output) == expected, f"{name} {arguments}: expected {expected}, found {sums(output)}")
        if not arguments and not name.startswith(SLOW_TO_PLAN):
            plan, _ = program.run("train", config, "--dry-run", "--ranks", 2)
            check(plan.startswith(f"{expected[0]:,} parameters"), f"{name}: {plan.splitlines()[0]}")
    covered = {name for name, *_ in EXPERIMENTS}
    for folder in FOLDERS:
        for file in os.listdir(os.path.join(CONFIGS, folder)):
            check(f"{folder}/{file[:-len('.json')]}" in covered, f"configs/{folder}/{file} is not counted")
    masks(program)
    as_json(program)
    products(program)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    check(most < MOST_MEMORY_MIB, f"{most} MiB to count parameters, expected less than {MOST_MEMORY_MIB}")
    print(f"{len(EXPERIMENTS)} counts are right; at most {most} MiB")


if __name__ == "__main__":
    main()
