#!/usr/bin/env python3
"""Turns PyTorch files of Transformer-XL models into what `segue import` reads: model.safetensors, and args.json where the
file holds the model's arguments.

  model.pt of the authors' code         the pickled model           segue import --from transformer-xl
  checkpoint*.pt of NVIDIA's code       model_state, model_config   segue import --from nvidia
  pytorch_model.bin of Hugging Face     a state_dict                segue import --from huggingface --args config.json
  a state_dict of the first two         tensors by name             write args.json yourself

Nothing of a file is run: classes it names are not imported, whoever wrote it. Needs torch and safetensors.
"""

import argparse
import json
import os
import pickle
import sys

EXAMPLES = """examples:
  launch/convert_torch.py workdir/model.pt converted
  launch/convert_torch.py checkpoint_best.pt converted
  launch/convert_torch.py transfo-xl-wt103/pytorch_model.bin converted
"""
try:
    import torch
    from safetensors.torch import save_file
except ImportError as error:
    sys.exit(f"convert_torch: this Python has no {error.name}: pip install torch safetensors")

# What a file may call while it is read: makers of tensors, and containers.
ALLOWED = {
    ("torch._utils", "_rebuild_tensor"), ("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_parameter_with_state"), ("collections", "OrderedDict"), ("collections", "defaultdict"),
    ("torch", "Size"), ("torch", "device"), ("builtins", "set"), ("__builtin__", "set"), ("builtins", "int"),
    ("builtins", "float"), ("builtins", "bool"), ("builtins", "list"), ("builtins", "dict"),
}


class Stub:
    """Stands for an object of any other class: keeps its attributes and does nothing."""

    def __init__(self, *arguments, **keywords):
        pass

    def __setstate__(self, state):
        if isinstance(state, tuple) and len(state) == 2:  # of __dict__ and of slots
            state = {**(state[0] or {}), **(state[1] or {})}
        if isinstance(state, dict):
            self.__dict__.update({str(key): value for key, value in state.items()})

    def __setitem__(self, key, value):
        pass

    def append(self, item):
        pass

    def extend(self, items):
        pass

    def __call__(self, *arguments, **keywords):
        return Stub()

    def __hash__(self):
        return id(self)


class RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        is_storage = module in ("torch", "torch.storage") and name.endswith("Storage")
        is_dtype = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if (module, name) in ALLOWED or is_storage or is_dtype:
            return super().find_class(module, name)
        return type(name, (Stub,), {"__module__": module})


class RestrictedPickle:
    """What torch.load asks of a `pickle_module`."""

    Unpickler = RestrictedUnpickler
    UnpicklingError = pickle.UnpicklingError

    @staticmethod
    def load(file, **options):
        return RestrictedUnpickler(file, **options).load()


class Refusal(Exception):
    pass


def read(path):
    try:
        return torch.load(path, map_location="cpu", pickle_module=RestrictedPickle, weights_only=False)
    except Exception as error:  # a file that is none fails in many ways
        text = " ".join(str(error).split())[:200]
        raise Refusal(f"expected a file of torch.save, found something else: {type(error).__name__}: {text}") from error


def is_state_dict(value):
    return isinstance(value, dict) and value and all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in value.items())


def attribute(module, name, default=None):
    """Of a model whose class is not there: parameters and modules lie in dictionaries beside its own attributes."""
    for place in (module.__dict__, *(module.__dict__.get(kind) or {} for kind in ("_modules", "_parameters", "_buffers"))):
        if place.get(name) is not None:
            return place[name]
    return default


def reach(module, path):
    for name in path.split("."):
        module = attribute(module, name)
        if module is None:
            raise Refusal(f"expected a MemTransformerLM of the authors' code, found a model without {path}")
    return module


def state_dict_of(module, prefix=""):
    tensors = {}
    for kind in ("_parameters", "_buffers"):
        for name, tensor in (module.__dict__.get(kind) or {}).items():
            if isinstance(tensor, torch.Tensor):
                tensors[prefix + name] = tensor
    for name, child in (module.__dict__.get("_modules") or {}).items():
        if child is not None:
            tensors.update(state_dict_of(child, f"{prefix}{name}."))
    return tensors


def is_shared(tensors, name, other):
    return name in tensors and other in tensors and tensors[name].data_ptr() == tensors[other].data_ptr()


def arguments_of(model, tensors):
    """The arguments of MemTransformerLM, from what its constructor made of them."""
    cutoffs = [int(cutoff) for cutoff in attribute(reach(model, "crit"), "cutoffs", [])][:-1]  # the last is the vocabulary
    div_val = int(attribute(reach(model, "crit"), "div_val", 1))
    attention = reach(model, "layers.0.dec_attn")
    arguments = {name: attribute(model, name) for name in (
        "n_token", "n_layer", "n_head", "d_model", "d_head", "d_embed", "tgt_len", "mem_len", "ext_len", "same_length",
        "attn_type", "clamp_len", "sample_softmax")}
    arguments.update(
        d_inner=reach(model, "layers.0.pos_ff.CoreNet.0.weight").shape[0],
        dropout=attribute(reach(model, "drop"), "p", 0.0), dropatt=attribute(reach(attention, "dropatt"), "p", 0.0),
        pre_lnorm=bool(attribute(attention, "pre_lnorm", False)), cutoffs=cutoffs, div_val=div_val,
        tied=is_shared(tensors, "crit.out_layers.0.weight", "word_emb.emb_layers.0.weight"),
        tie_projs=[is_shared(tensors, f"crit.out_projs.{i}", f"word_emb.emb_projs.{i if div_val > 1 else 0}")
                   for i in range(len(cutoffs) + 1)])
    return {name: value for name, value in arguments.items() if value is not None}


def without_prefix(tensors, prefix="module."):
    """Names as they are without DataParallel around the model."""
    if all(name.startswith(prefix) for name in tensors):
        return {name[len(prefix):]: tensor for name, tensor in tensors.items()}
    return tensors


def source_of(names):
    if any(name.startswith("transformer.") for name in names):
        return "huggingface"
    if any(name.startswith("crit.out_layers_") for name in names):
        return "nvidia"
    if "word_emb.emb_layers.0.weight" in names:
        return "transformer-xl"
    raise Refusal("expected the tensors of a Transformer-XL, found others: " + ", ".join(sorted(names)[:3]))


def contents_of(value):
    """The tensors and the arguments, or None where the file has none."""
    if is_state_dict(value):
        return without_prefix(value), None
    if isinstance(value, dict) and is_state_dict(value.get("model_state")):
        return without_prefix(value["model_state"]), value.get("model_config")
    if isinstance(value, Stub) and "_modules" in value.__dict__:
        model = value.__dict__["_modules"].get("module") or value
        tensors = state_dict_of(model)
        source_of(tensors)
        return tensors, arguments_of(model, tensors)
    kind = f"a dictionary with {', '.join(map(str, list(value)[:5]))}" if isinstance(value, dict) else type(value).__name__
    raise Refusal(f"expected a model, a state_dict or a checkpoint with model_state, found {kind}")


def write(tensors, arguments, directory):
    os.makedirs(directory, exist_ok=True)
    separate = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    save_file(separate, os.path.join(directory, "model.safetensors"), metadata={"format": "pt"})
    if arguments is not None:
        with open(os.path.join(directory, "args.json"), "w") as file:
            json.dump(arguments, file, indent=1)


def next_step(source, directory, has_arguments):
    args = "config.json" if source == "huggingface" else os.path.join(directory, "args.json")
    command = f"segue import --from {source} --model {os.path.join(directory, 'model.safetensors')} --args {args} --output imported"
    if has_arguments or source == "huggingface":
        return command
    return f"{command}\n(the file holds no arguments: write {args} first; segue import --help says which)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the .pt or .bin file")
    parser.add_argument("output", help="directory to write model.safetensors and args.json to")
    options = parser.parse_args()
    try:
        if not os.path.isfile(options.file):
            raise Refusal("no such file")
        tensors, arguments = contents_of(read(options.file))
        source = source_of(tensors)
        write(tensors, arguments, options.output)
    except Refusal as refusal:
        sys.exit(f"convert_torch: {options.file}: {refusal}")
    print(f"{options.output}: {len(tensors)} tensors{'' if arguments is None else ' and arguments'}; next:")
    print(next_step(source, options.output, arguments is not None))


if __name__ == "__main__":
    main()
