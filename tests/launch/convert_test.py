"""segue import and export as a user runs them: what is refused leaves nothing behind, TensorFlow's variables come in as
.npz, and a model is evaluated as it was trained.
"""

import json
import os

from foreign_weights import tensorflow_args, tensorflow_variables
from program import Program, check, evaluate, refused
from tensor_files import read_safetensors, write_npz, write_safetensors

USAGE, CONFIG, CHECKPOINT, FILE = 2, 3, 5, 6
VOCABULARY = 40
MODEL = {
    "n_layer": 2, "n_head": 2, "d_model": 8, "d_head": 3, "d_inner": 10, "mem_len": 12, "dropout": 0.0,
    "head": {"kind": "adaptive", "cutoffs": [10, 30], "div_val": 2, "tie_projs": [False, True, True]},
}


def train(program, name, model):
    config = program.config(name + ".json", data={"path": "tokens"}, model=model, evaluation={"interval": 0},
                            training={"batch_size": 2, "tgt_len": 8, "max_step": 2}, checkpoint={"interval": 0})
    program.run("train", config, "--run", name)


def test_same_length_is_as_trained(program):
    train(program, "windowed", dict(MODEL, visibility={"same_length": True}))
    for flags, expected in (([], True), (["--same-length"], True), (["--no-same-length"], False)):
        found = evaluate(program, "--checkpoint", "windowed", "--data", "tokens", "--split", "train", *flags)["same_length"]
        check(found == expected, f"eval {flags} of a model with same_length: {found}, expected {expected}")


def test_import_refuses(program, tensors, args):
    def attempt(code, says, source="transformer-xl", change=lambda _: None, **other_args):
        changed = dict(tensors)
        change(changed)
        write_safetensors(program.path("bad.safetensors"), changed)
        program.write("bad.json", json.dumps({**args, **other_args}))
        refused(program, code, "import", "--from", source, "--model", "bad.safetensors", "--args", "bad.json", "--output",
                "imported", says=says, leaves_nothing_at="imported")

    bias, table, copy = "layers.1.pos_ff.CoreNet.3.bias", "word_emb.emb_layers.1.weight", "crit.out_layers.1.weight"
    attempt(CHECKPOINT, ["bad.safetensors", bias], change=lambda t: t.pop(bias))
    attempt(CHECKPOINT, ["bad.safetensors", "crit.more"], change=lambda t: t.update({"crit.more": ([1], [0.0])}))
    attempt(CHECKPOINT, [bias, "[8]", "[4, 2]"], change=lambda t: t.update({bias: ([4, 2], t[bias][1])}))
    attempt(CHECKPOINT, [table, copy, "differ"], change=lambda t: t.update({copy: (t[copy][0], [1.0] * len(t[copy][1]))}))
    attempt(CHECKPOINT, ["word_emb.emb_layers.2.weight", "[11, 2]", "[10, 2]"], n_token=VOCABULARY + 1)
    attempt(CHECKPOINT, ["word_emb.emb_layers.0.weight", "[9, 8]", "[10, 8]"], cutoffs=[9, 30])
    attempt(CONFIG, ["bad.json", "cutoffs", "from 1 to 39", "40"], cutoffs=[10, 40])
    attempt(CONFIG, ["bad.json", "cutoffs", "30 after 30"], cutoffs=[30, 30])
    attempt(CONFIG, ["bad.json", "n_layers", "n_layer"], n_layers=2)
    attempt(CONFIG, ["bad.json", "unknown key"], source="nvidia")


def test_tensorflow(program, tensors, args):
    """The model's tensors as TensorFlow's variables, and back as those of PyTorch."""
    variables = tensorflow_variables(tensors, args)
    slots = {name + "/Adam": tensor for name, tensor in variables.items()}

    program.write("tf.json", json.dumps(tensorflow_args(args)))
    program.write("objects.npz", b"")
    write_npz(program.path("objects.npz"), {"transformer/r_w_bias": ([1], [0.0])}, "|O")
    refused(program, CHECKPOINT, "import", "--from", "transformer-xl-tf", "--model", "objects.npz", "--args", "tf.json",
            "--output", "from-tf", says=["objects.npz", "transformer/r_w_bias", "pickled"], leaves_nothing_at="from-tf")

    write_npz(program.path("variables.npz"), variables | slots)
    output, _ = program.run("import", "--from", "transformer-xl-tf", "--model", "variables.npz", "--args", "tf.json",
                            "--output", "from-tf")
    check(f"passed over {len(slots)} tensors of the optimizer" in output, output)
    for line in ("head.cluster_order = ascending", "block.layer_norm_epsilon = 1e-12", "memory.initial = zeros"):
        check(f"set model.{line}" in output, f"import does not say {line!r}:\n{output}")
    program.run("export", "--checkpoint", "from-tf", "--format", "huggingface", "--output", "exported-tf")
    found = read_safetensors(program.path("exported-tf", "model.safetensors"))
    for name, tensor in tensors.items():
        check(found[name if name.startswith("crit.") else "transformer." + name] == tensor, f"{name} differs")


def test_export_refuses(program):
    refused(program, USAGE, "export", "--checkpoint", "run", "--format", "huggingface", "--output", "hugging", "--args", "a.json",
            says=["--args", "config.json"], leaves_nothing_at="hugging")
    refused(program, USAGE, "export", "--checkpoint", "run", "--format", "huggingface", "--output", "run",
            says=["run: exists and is not an empty directory"])
    train(program, "gelu", dict(MODEL, block={"activation": "gelu"}))
    for output in ("hugging", "pytorch"):
        refused(program, CONFIG, "export", "--checkpoint", "gelu", "--format",
                "huggingface" if output == "hugging" else "transformer-xl", "--output", output,
                says=["model.block.activation", "gelu"], leaves_nothing_at=output)
    os.mkdir(program.path("full"))
    refused(program, FILE, "export", "--checkpoint", "run", "--output", "full", says=["full"])
    check(os.listdir(program.path("full")) == [], "an export that failed left something")


def main():
    program = Program()
    program.prepare_tokens("tokens", VOCABULARY, train=[(i * i + i // 7) % VOCABULARY for i in range(600)])
    train(program, "run", MODEL)
    program.run("export", "--checkpoint", "run", "--output", "model.safetensors", "--args", "args.json")
    tensors = read_safetensors(program.path("model.safetensors"))
    with open(program.path("args.json")) as file:
        args = json.load(file)
    test_same_length_is_as_trained(program)
    test_import_refuses(program, tensors, args)
    test_tensorflow(program, tensors, args)
    test_export_refuses(program)


main()
