"""launch/convert_torch.py: files of torch.save become what `segue import` reads, nothing of a file is run, and whatever
is no such file is refused in one line. Skipped where Python lacks torch or safetensors.
"""

import json
import pathlib
import subprocess
import sys

from program import Program, check, evaluate

CONVERTER = pathlib.Path(__file__).resolve().parents[2] / "launch" / "convert_torch.py"
SKIPPED = 77
VOCABULARY = 60
MODEL = {
    "n_layer": 2, "n_head": 2, "d_model": 32, "d_head": 12, "d_inner": 48, "mem_len": 24, "dropout": 0.1, "dropatt": 0.05,
    "head": {"kind": "adaptive", "cutoffs": [10, 30], "div_val": 2, "tie_projs": [False, True, False]},
}

# Modules that keep what the authors' code keeps, under its module's name; gone when the file is read.
CLASSES = '''
import torch
from torch import nn

class Part(nn.Module):
    pass

class MemTransformerLM(nn.Module):
    def __init__(self, tensors, args):
        super().__init__()
        parameters = {}
        for name, tensor in tensors.items():
            *path, last = name.split(".")
            part = self
            for step in path:
                if not hasattr(part, step):
                    setattr(part, step, Part())
                part = getattr(part, step)
            if name == "pos_emb.inv_freq":
                part.register_buffer(last, tensor)
            else:
                known = parameters.setdefault(tensor.numpy().tobytes(), nn.Parameter(tensor))
                part.register_parameter(last, known)
        for name in ("n_token", "n_layer", "n_head", "d_model", "d_head", "d_embed", "tgt_len", "mem_len", "same_length",
                     "attn_type", "clamp_len", "sample_softmax", "ext_len"):
            setattr(self, name, args[name])
        self.drop = nn.Dropout(args["dropout"])
        for layer in self.layers.children():
            layer.dec_attn.dropatt = nn.Dropout(args["dropatt"])
            layer.dec_attn.pre_lnorm = args["pre_lnorm"]
        self.crit.cutoffs = args["cutoffs"] + [args["n_token"]]
        self.crit.div_val = args["div_val"]
'''


def import_or_skip():
    try:
        import torch
        from safetensors.torch import load_file
        return torch, load_file
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


def convert(program, file, output, expect=0):
    done = subprocess.run([sys.executable, "-B", CONVERTER, file, output], cwd=program.directory, capture_output=True,
                          text=True, env=program.environment)
    check(done.returncode == expect, f"convert_torch {file}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if expect == 0 else done.stderr


def check_same(found, expected, what):
    check(sorted(found) == sorted(expected), f"{what}: tensors {sorted(set(found) ^ set(expected))} on one side only")
    for name, tensor in expected.items():
        check(found[name].equal(tensor), f"{what}: {name} differs")


def loss_of(program, checkpoint):
    return evaluate(program, "--checkpoint", checkpoint, "--data", "text", "--split", "train", "--batch", 2)["loss"]


def check_imports(program, source, args, directory, expected_loss):
    program.run("import", "--from", source, "--model", f"{directory}/model.safetensors", "--args", args, "--output",
                f"{directory}-imported")
    loss = loss_of(program, f"{directory}-imported")
    check(loss == expected_loss, f"{source}: loss {loss} after the import, {expected_loss} before")


def nvidia_names(tensors):
    """Tied tables are not in the file; all projections of the embedding are there twice, own ones of tied clusters not."""
    named = {}
    for name, tensor in tensors.items():
        if name.startswith("crit.out_layers.") and name.endswith("bias"):
            named[name.replace("out_layers", "out_layers_biases").removesuffix(".bias")] = tensor
        elif not name.startswith("crit.out_layers.") and name != "crit.out_projs.1":
            named[name] = tensor
        if name.startswith("word_emb.emb_projs."):
            named[name.replace("word_emb.emb_projs", "crit.shared_out_projs")] = tensor
    return named


def test_models_of_the_authors(torch, program, load_file, tensors, args, loss):
    program.write("mem_transformer.py", CLASSES)
    sys.path.insert(0, program.directory)
    from mem_transformer import MemTransformerLM
    model = MemTransformerLM(tensors, args)
    for name, new_format in (("model.pt", True), ("old.pt", False)):
        torch.save(model, program.path(name), _use_new_zipfile_serialization=new_format)
    (pathlib.Path(program.directory) / "mem_transformer.py").unlink()
    for name in ("model.pt", "old.pt"):
        directory = name + "-converted"
        convert(program, name, directory)
        check_same(load_file(program.path(directory, "model.safetensors")), tensors, name)
        with open(program.path(directory, "args.json")) as file:
            found = json.load(file)
        wrong = {key: value for key, value in found.items() if args[key] != value}
        check(not wrong, f"{name}: arguments {wrong}, expected {args}")
        check_imports(program, "transformer-xl", f"{directory}/args.json", directory, loss)


def test_checkpoints_of_nvidia(torch, program, tensors, args, loss):
    config = {"tie_weight" if key == "tied" else key: value for key, value in args.items() if key not in ("untie_r", "batch")}
    state = {f"module.{name}": tensor for name, tensor in nvidia_names(tensors).items()}
    torch.save({"args": None, "model_config": {**config, "dtype": None}, "model_state": state, "epoch": 3},
               program.path("nvidia.pt"))
    check("--from nvidia" in convert(program, "nvidia.pt", "nvidia"), "nvidia.pt: the next command is not told")
    check_imports(program, "nvidia", "nvidia/args.json", "nvidia", loss)


def test_files_of_hugging_face(torch, program, load_file):
    program.run("export", "--checkpoint", "run", "--format", "huggingface", "--output", "exported")
    tensors = load_file(program.path("exported", "model.safetensors"))
    torch.save(tensors, program.path("pytorch_model.bin"))
    convert(program, "pytorch_model.bin", "hugging-face")
    check_same(load_file(program.path("hugging-face", "model.safetensors")), tensors, "pytorch_model.bin")
    program.run("import", "--from", "huggingface", "--model", "hugging-face/model.safetensors", "--args",
                "exported/config.json", "--output", "hugging-face-imported")


class Harmful:
    def __reduce__(self):
        return exec, ("open('harmed', 'w').close()",)


def test_refusals(torch, program):
    program.write("text.pt", "no file of torch.save")
    torch.save([1, 2], program.path("list.pt"))
    torch.save({"weight": torch.ones(2)}, program.path("other.pt"))
    torch.save({"model_state": Harmful()}, program.path("harmful.pt"))
    for file, says in (("none.pt", "no such file"), ("text.pt", "expected a file of torch.save"), ("list.pt", "found list"),
                       ("other.pt", "expected the tensors of a Transformer-XL"), ("harmful.pt", "expected a model")):
        errors = convert(program, file, "refused", expect=1)
        check(len(errors.splitlines()) == 1 and says in errors and file in errors, f"{file}: {errors}")
        check(not pathlib.Path(program.path("refused")).exists(), f"{file}: something was written")
    check(not pathlib.Path(program.path("harmed")).exists(), "harmful.pt was run")


def main():
    torch, load_file = import_or_skip()
    program = Program()
    program.prepare_tokens("text", VOCABULARY, train=[(i * i + i // 7) % VOCABULARY for i in range(2000)])
    config = program.config("config.json", data={"path": "text"}, model=MODEL, evaluation={"interval": 0},
                            training={"batch_size": 2, "tgt_len": 16, "max_step": 3}, checkpoint={"interval": 0})
    program.run("train", config, "--run", "run")
    program.run("export", "--checkpoint", "run", "--output", "model.safetensors", "--args", "args.json")
    tensors = load_file(program.path("model.safetensors"))
    with open(program.path("args.json")) as file:
        args = json.load(file)
    loss = loss_of(program, "run")
    test_models_of_the_authors(torch, program, load_file, tensors, args, loss)
    test_checkpoints_of_nvidia(torch, program, tensors, args, loss)
    test_files_of_hugging_face(torch, program, load_file)
    test_refusals(torch, program)


main()
