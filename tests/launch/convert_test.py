"""segue import and export as a user runs them: what is refused leaves nothing behind, TensorFlow's variables come in as
.npz, and a model is evaluated as it was trained.
"""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

from foreign_weights import tensorflow_args, tensorflow_variables
from program import Program, check, evaluate, refused
from tensor_files import read_safetensors, write_npz, write_safetensors

READY_MADE = pathlib.Path(__file__).resolve().parents[1] / "data_pipeline" / "tokenizer" / "ready_made"
USAGE, CONFIG, DATA, CHECKPOINT, FILE = 2, 3, 4, 5, 6
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
    for value in (math.nan, math.inf, -math.inf):
        attempt(CHECKPOINT, ["bad.safetensors", bias, f"expected finite numbers, found {value} at [0]"],
                change=lambda t: t.update({bias: ([8], [value] + [0.0] * 7)}))
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

    broken = next(name for name, (shape, _) in variables.items() if len(shape) == 1)
    shape, values = variables[broken]
    write_npz(program.path("broken.npz"), {**variables, broken: (shape, [*values[:-1], math.nan])})
    refused(program, CHECKPOINT, "import", "--from", "transformer-xl-tf", "--model", "broken.npz", "--args", "tf.json", "--output",
            "from-tf", says=["broken.npz", broken, f"found nan at [{len(values) - 1}]"], leaves_nothing_at="from-tf")
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
    program.run("import", "--model", "model.safetensors", "--args", "args.json", "--output", "broken")
    weights = program.path("broken", "weights.safetensors")
    tensors = read_safetensors(weights)
    shape, values = tensors["attention.u"]
    write_safetensors(weights, {**tensors, "attention.u": (shape, [*values[:-1], math.inf])})
    subprocess.run([os.path.abspath(sys.argv[2]), program.path("broken")], check=True)
    for output, *options in (("hugging", "--format", "huggingface"), ("pytorch",)):
        refused(program, CHECKPOINT, "export", "--checkpoint", "broken", "--output", output, *options,
                says=["broken: tensor attention.u: expected finite numbers, found inf at [1, 2]"], leaves_nothing_at=output)
    os.mkdir(program.path("full"))
    refused(program, FILE, "export", "--checkpoint", "run", "--output", "full", says=["full"])
    check(os.listdir(program.path("full")) == [], "an export that failed left something")


def imports(program, *arguments, output="with-tokenizer"):
    shutil.rmtree(program.path(output), ignore_errors=True)
    return program.run("import", "--model", "model.safetensors", "--args", "args.json", *arguments, "--output", output)[0]


def check_reads_text(program, checkpoint, text, data):
    """Scores and writes text, and is evaluated on a dataset of the same tokenizer."""
    program.write("scored.txt", text)
    program.run("generate", "--checkpoint", checkpoint, "--score", "scored.txt", "--json", "scored.json")
    with open(program.path("scored.json")) as file:
        bits = [row["bits"] for row in json.load(file)["rows"]]
    check(len(bits) > 1 and all(each > 0 for each in bits[1:]), f"{checkpoint}: {bits}")
    written, _ = program.run("generate", "--checkpoint", checkpoint, "--prompt", text, "--tokens", 5, "--seed", 1)
    check(written.strip(), f"{checkpoint} writes nothing")
    evaluate(program, "--checkpoint", checkpoint, "--data", data, "--split", "train", "--batch-size", 1)


def test_import_with_tokenizer(program):
    """Of a list of words, of a dataset, and what does not fit the weights."""
    words = ["<eos>", "<unk>", *(f"w{i}" for i in range(VOCABULARY - 2))]
    program.write("words.txt", "".join(word + "\n" for word in words))
    program.write("few.txt", "a\nb\n")
    program.write("text.txt", "".join(f"w{i % 38} w{i * i % 38} w{i % 7}\n" for i in range(400)))
    program.run("prepare", "--tokenizer", "word", "--vocabulary", "words.txt", "--eos", "line", "--train", "text.txt", "--output", "words")
    output = imports(program, "--tokenizer", "words.txt", "--eos", "line")
    check("vocabulary 40, tokenizer word" in output and "<eos>" not in output, output)
    check_reads_text(program, "with-tokenizer", "w1 w2\nw3 unheard", "words")
    check("--eos line marks ends of lines" in imports(program, "--tokenizer", "words.txt", output="unmarked"), "no word of <eos>")
    refused(program, DATA, "eval", "--checkpoint", "unmarked", "--data", "words", "--split", "train", says=["words: expected the tokenizer that", "found word"])
    imports(program, "--data", "words")
    check_reads_text(program, "with-tokenizer", "w1 w2", "words")
    check("no tokenizer" in imports(program, output="without"), "import does not say that there is no tokenizer")
    refused(program, CHECKPOINT, "generate", "--checkpoint", "without", "--prompt", "w1", says=["found none", "segue import", "--tokenizer"])
    program.write("text.pt", b"PK\3\4" + b"archive/data.pkl" * 10)
    for arguments, code, says in (
            (("--tokenizer", "few.txt"), DATA, "few.txt: expected a vocabulary of 40, that of the weights in model.safetensors, found one of 2 (word)"),
            (("--tokenizer", READY_MADE / "ranks.tiktoken", "--encoding", "gpt2"), DATA, "(tiktoken)"), (("--data", "tokens"), DATA, "tokens: expected a dataset of text"),
            (("--data", "bytes"), DATA, "bytes: expected a vocabulary of 40, that of the weights in model.safetensors, found one of 256 (byte)"),
            (("--tokenizer", "none.txt"), FILE, "none.txt: "), (("--tokenizer", "text.pt"), DATA, "text.pt: expected text, found"),
            (("--tokenizer", "words.txt", "--encoding", "gpt2"), USAGE, "--encoding: expected --tokenizer tiktoken, found word"),
            (("--tokenizer", "words.txt", "--data", "words"), USAGE, "expected one of them"), (("--eos", "line"), USAGE, "--tokenizer")):
        refused(program, code, "import", "--model", "model.safetensors", "--args", "args.json", *arguments, "--output", "none", says=[says],
                leaves_nothing_at="none/")


def test_import_with_tokenizer_of_others(program):
    """Of every kind of file that `prepare --tokenizer` reads."""
    program.write("prose.txt", "It was a bright day, and the clocks struck thirteen.\n" * 100)
    # The learned pieces of a dataset, as a file of their own.
    program.run("prepare", "--tokenizer", "sentencepiece", "--vocab-size", 280, "--train", "prose.txt", "--output", "pieces")
    shutil.copy(program.path("pieces", "tokenizer.model"), program.path("pieces.model"))
    for file in ("gpt2.json", "bert.json", "ranks.tiktoken", program.path("pieces.model")):
        options = ("--tokenizer", READY_MADE / file) + (("--encoding", "gpt2") if file.endswith("tiktoken") else ())
        program.run("prepare", *options, "--train", "prose.txt", "--output", "theirs", "--force")
        config = program.config("theirs.json", data={"path": "theirs"}, model=dict(MODEL, head={"kind": "softmax"}), evaluation={"interval": 0},
                                training={"batch_size": 2, "tgt_len": 8, "max_step": 2}, checkpoint={"interval": 0})
        shutil.rmtree(program.path("run-theirs"), ignore_errors=True)
        program.run("train", config, "--run", "run-theirs")
        program.run("export", "--checkpoint", "run-theirs", "--output", "theirs.safetensors", "--args", "theirs-args.json")
        shutil.rmtree(program.path("imported-theirs"), ignore_errors=True)
        program.run("import", "--model", "theirs.safetensors", "--args", "theirs-args.json", *options, "--output", "imported-theirs")
        check_reads_text(program, "imported-theirs", "It was a day.", "theirs")


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
    program.write("bytes.txt", "some text of bytes\n" * 50)
    program.run("prepare", "--train", "bytes.txt", "--output", "bytes")
    test_import_with_tokenizer(program)
    test_import_with_tokenizer_of_others(program)


main()
