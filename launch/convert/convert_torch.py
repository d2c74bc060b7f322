#!/usr/bin/env python3
"""Turns PyTorch files of Transformer-XL models into what `segue import` reads: model.safetensors, and args.json where the
file holds the model's arguments.

  model.pt of the authors' code         the pickled model           segue import --from transformer-xl
  checkpoint*.pt of NVIDIA's code       model_state, model_config   segue import --from nvidia
  pytorch_model.bin of Hugging Face     a state_dict                segue import --from huggingface --args config.json
  a state_dict of the first two         tensors by name             write args.json yourself

Nothing of a file is run, whoever wrote it: neither torch nor Python's unpickler reads it, and a file that asks for anything
but tensors, containers and the classes of these programs is refused; of other classes, save the state_dict alone. Needs
nothing but Python.
"""

import argparse
import contextlib
import functools
import json
import math
import os
import struct
import sys
import tempfile

from torch_file import Object, Refusal, Tensor, data_of, is_count, kind_of, one_line, open_file, require, require_no_repeats

EXAMPLES = """examples:
  launch/convert/convert_torch.py workdir/model.pt converted
  launch/convert/convert_torch.py checkpoint_best.pt converted
  launch/convert/convert_torch.py transfo-xl-wt103/pytorch_model.bin converted
"""
MOST_COPIES = 4  # tied tables are written once for each of their names
DEEPEST_MODULE, MOST_MODULES, LONGEST_NAME = 64, 10000, 200


def is_state_dict(value):
    return isinstance(value, dict) and value and all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in value.items())


def parts_of(module, kind):
    parts = module.attributes.get(kind)
    return parts if isinstance(parts, dict) else {}


def attribute(module, name, default=None):
    """Of a model whose class is not there: parameters and modules lie in dictionaries beside its own attributes."""
    require(isinstance(module, Object), "expected a MemTransformerLM of the authors' code, found another model")
    for place in (module.attributes, *(parts_of(module, kind) for kind in ("_modules", "_parameters", "_buffers"))):
        if place.get(name) is not None:
            return place[name]
    return default


def reach(module, path):
    for name in path.split("."):
        module = attribute(module, name)
        require(module is not None, f"expected a MemTransformerLM of the authors' code, found a model without {path}")
    return module


def state_dict_of(model):
    tensors, modules, waiting = {}, 0, [((), model)]
    while waiting:
        path, module = waiting.pop()
        modules += 1
        require(modules <= MOST_MODULES and len(path) <= DEEPEST_MODULE, "the model has too many modules")
        for kind in ("_parameters", "_buffers", "_modules"):
            for name, part in parts_of(module, kind).items():
                require(isinstance(name, str) and len(name) <= LONGEST_NAME, "the model has a part without a proper name")
                if isinstance(part, Tensor):
                    tensors[".".join((*path, name))] = part
                elif isinstance(part, Object) and kind == "_modules":
                    waiting.append(((*path, name), part))
    return tensors


def is_shared(tensors, name, other):
    return name in tensors and other in tensors and tensors[name] == tensors[other]


def arguments_of(model, tensors):
    """The arguments of MemTransformerLM, from what its constructor made of them."""
    cutoffs = list(attribute(reach(model, "crit"), "cutoffs", []))[:-1]  # the last is the vocabulary
    div_val = attribute(reach(model, "crit"), "div_val", 1)
    attention = reach(model, "layers.0.dec_attn")
    arguments = {name: attribute(model, name) for name in (
        "n_token", "n_layer", "n_head", "d_model", "d_head", "d_embed", "tgt_len", "mem_len", "ext_len", "same_length",
        "attn_type", "clamp_len", "sample_softmax")}
    inner = reach(model, "layers.0.pos_ff.CoreNet.0.weight")
    require(isinstance(inner, Tensor) and inner.shape and is_count(div_val), "expected a MemTransformerLM, found another model")
    arguments.update(
        d_inner=inner.shape[0],
        dropout=attribute(reach(model, "drop"), "p", 0.0), dropatt=attribute(reach(attention, "dropatt"), "p", 0.0),
        pre_lnorm=bool(attribute(attention, "pre_lnorm", False)), cutoffs=cutoffs, div_val=div_val,
        tied=is_shared(tensors, "crit.out_layers.0.weight", "word_emb.emb_layers.0.weight"),
        tie_projs=[is_shared(tensors, f"crit.out_projs.{i}", f"word_emb.emb_projs.{i if div_val > 1 else 0}")
                   for i in range(len(cutoffs) + 1)])
    return {name: value for name, value in arguments.items() if value is not None}


def plain_arguments(arguments):
    """Without what is neither a number nor text nor a list of these."""
    require(isinstance(arguments, dict), f"expected the model's arguments, found {kind_of(arguments)}")

    def is_plain(value):
        return value is None or isinstance(value, (bool, int, float, str))

    return {name: value for name, value in arguments.items() if isinstance(name, str) and (
        is_plain(value) or (type(value) in (list, tuple) and all(map(is_plain, value))))}


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
    found = ", ".join(one_line(name) for name in sorted(names)[:3])
    raise Refusal(f"expected the tensors of a Transformer-XL, found others: {found}")


def contents_of(value):
    """The tensors and the arguments, or None where the file has none."""
    if is_state_dict(value):
        return without_prefix(value), None
    if isinstance(value, dict) and is_state_dict(value.get("model_state")):
        arguments = value.get("model_config")
        return without_prefix(value["model_state"]), None if arguments is None else plain_arguments(arguments)
    if isinstance(value, Object) and "_modules" in value.attributes:
        inner = parts_of(value, "_modules").get("module")
        model = inner if isinstance(inner, Object) else value
        tensors = state_dict_of(model)
        source_of(tensors)
        return tensors, plain_arguments(arguments_of(model, tensors))
    raise Refusal(f"expected a model, a state_dict or a checkpoint with model_state, found {kind_of(value)}")


def header_of(tensors):
    """Of safetensors; wide elements come first, so that each tensor is aligned."""
    order = sorted(tensors, key=lambda name: (-tensors[name].storage.item_bytes, name))
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name in order:
        begin, end = end, end + math.prod(tensors[name].shape) * tensors[name].storage.item_bytes
        header[name] = {"dtype": tensors[name].storage.dtype, "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return order, struct.pack("<Q", len(text)) + text


@contextlib.contextmanager
def replaced(*paths):
    """Files that take their places when all of them are whole."""
    files = []
    try:
        for path in paths:
            require(not os.path.isdir(path), f"expected to write the file {one_line(path)}, found a directory there")
            files.append(tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False))
        yield files
        for file in files:
            file.close()
            os.chmod(file.name, 0o644)
        for file, path in zip(files, paths):
            os.replace(file.name, path)
    except BaseException:
        for file in files:
            for clean_up in (file.close, functools.partial(os.unlink, file.name)):
                with contextlib.suppress(OSError):  # the first error is the one to tell
                    clean_up()
        raise


def write(tensors, arguments, file, directory):
    order, header = header_of(tensors)
    names = ["model.safetensors"] if arguments is None else ["model.safetensors", "args.json"]
    with replaced(*(os.path.join(directory, name) for name in names)) as (model, *others):
        model.write(header)
        for name in order:
            model.write(data_of(tensors[name], file.bytes_of(tensors[name].storage)))
        for output in others:
            output.write(json.dumps(arguments, indent=1).encode())


def write_in_directory(tensors, arguments, file, directory):
    is_new = not os.path.isdir(directory)
    os.makedirs(directory, exist_ok=True)
    try:
        write(tensors, arguments, file, directory)
    except BaseException:
        with contextlib.suppress(OSError):
            if is_new:
                os.rmdir(directory)
        raise


def next_step(source, directory, has_arguments):
    args = "config.json" if source == "huggingface" else os.path.join(directory, "args.json")
    command = f"segue import --from {source} --model {os.path.join(directory, 'model.safetensors')} --args {args} --output imported"
    if has_arguments or source == "huggingface":
        return command
    return f"{command}\n(the file holds no arguments: write {args} first; segue import --help says which)"


def convert(path, directory):
    file = open_file(path)
    tensors, arguments = contents_of(file.value())
    source = source_of(tensors)
    for name, tensor in tensors.items():
        require_no_repeats(name, tensor)
    size, most = sum(math.prod(t.shape) * t.storage.item_bytes for t in tensors.values()), MOST_COPIES * os.path.getsize(path)
    require(size <= most, f"its tensors are views that would take {size} bytes, expected at most {most}")
    require("__metadata__" not in tensors, "a tensor is named __metadata__, which safetensors cannot hold")
    write_in_directory(tensors, arguments, file, directory)
    print(f"{directory}: {len(tensors)} tensors{'' if arguments is None else ' and arguments'}; next:")
    print(next_step(source, directory, arguments is not None))


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the .pt or .bin file")
    parser.add_argument("output", help="directory to write model.safetensors and args.json to")
    options = parser.parse_args()
    try:
        convert(options.file, options.output)
    except Refusal as refusal:
        sys.exit(f"convert_torch: {options.file}: {refusal}")
    except OSError as error:
        sys.exit(f"convert_torch: {options.file}: {one_line(error, 300)}")
    except Exception as error:  # a file that is none fails in many ways
        sys.exit(f"convert_torch: {options.file}: expected a file of torch.save, found a damaged one: "
                 f"{type(error).__name__}: {one_line(error, 200)}")


if __name__ == "__main__":
    main()
