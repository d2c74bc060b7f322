#!/usr/bin/env python3
"""Turns PyTorch files of Transformer-XL models into what `segue import` reads: model.safetensors, and args.json where the
file holds the model's arguments; of a vocabulary, its words.

  model.pt of the authors' code         the pickled model           segue import --from transformer-xl
  checkpoint*.pt of NVIDIA's code       model_state, model_config   segue import --from nvidia
  pytorch_model.bin of Hugging Face     a state_dict                segue import --from huggingface --args config.json
  a state_dict of the first two         tensors by name             write args.json yourself
  cache.pt, vocab.bin, vocab.pkl        the vocabulary of words     segue import --tokenizer vocabulary.txt --eos line

A state_dict may lie in dictionaries: of Lightning, of DeepSpeed, or as model, state_dict or model_state_dict beside an
optimizer and counters. What torch.compile, DataParallel and FSDP put before its names is left out. Shards are read by their
list, pytorch_model.bin.index.json, or by the directory that holds it.

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

from unsupported_files import what_directory
from torch_file import LARGEST_LIST, data_of, open_file
from torch_pickle import PLAIN, Object, OtherTensor, Refusal, Tensor, is_count, one_line, require, require_no_repeats
from wrapped_weights import WEIGHTS, find_weights, plain_arguments, plain_names, source_of, state_dict_in

EXAMPLES = """examples:
  launch/convert/convert_torch.py workdir/model.pt converted
  launch/convert/convert_torch.py checkpoint_best.pt converted
  launch/convert/convert_torch.py transfo-xl-wt103/pytorch_model.bin converted
  launch/convert/convert_torch.py transfo-xl-wt103/vocab.bin converted
"""
MOST_COPIES = 4  # tied tables are written once for each of their names
FEWEST_WORDS = 256  # fewer are the symbols of enwik8 or text8
DEEPEST_MODULE, MOST_MODULES, LONGEST_NAME = 64, 10000, 200


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


def model_in(value):
    """The whole model that a file is, or that its dictionary holds beside others; None where there is none."""
    models = [value] if not isinstance(value, dict) else [value.get(name) for name in WEIGHTS]
    return next((model for model in models if isinstance(model, Object) and "_modules" in model.attributes), None)


def contents_of(value):
    """The tensors and the arguments, or None where the file has none."""
    model = model_in(value)
    if model is not None:
        inner = parts_of(model, "_modules").get("module")
        model = inner if isinstance(inner, Object) else model
        tensors = state_dict_of(model)
        source_of(tensors)
        return tensors, plain_arguments(arguments_of(model, tensors))
    return find_weights(value)


def words_in(value):
    """The words of a vocabulary, or of the corpus that holds it, in the order of their tokens; None where there is none."""
    for _ in range(2):
        attributes = value.attributes if isinstance(value, Object) else value
        if not isinstance(attributes, dict):
            return None
        if isinstance(attributes.get("idx2sym"), list):
            return attributes["idx2sym"]
        value = attributes.get("vocab")
    return None


def require_words(words):
    require(len(words) >= FEWEST_WORDS, f"expected a vocabulary of words, found {len(words)} symbols: segue prepare --tokenizer enwik8 or "
            "text8 makes those of these corpora, and segue import --data takes them")
    known = set()
    for number, word in enumerate(words):
        require(isinstance(word, str) and word and not any(map(str.isspace, word)),
                f"word {number}: expected text without white space, found {one_line(word)}")
        require(word not in known, f"word {number}: expected another one, found {one_line(word)} a second time")
        known.add(word)


def write_words(words, directory):
    require_words(words)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "vocabulary.txt")
    with replaced(path) as (file,):
        file.write("".join(word + "\n" for word in words).encode())
    print(f"{path}: {len(words)} words; next, with the flags of the weights:\nsegue import --tokenizer {path} --eos line ...")


def require_readable(name, tensor):
    """Of a tensor of the model: elements that `segue import` can make float32 of."""
    if isinstance(tensor, OtherTensor):
        raise Refusal(f"{one_line(name)}: a tensor that is {tensor.kind}, which is not read: {tensor.advice}")
    dtype = tensor.storage.dtype
    if "float8" in dtype or "float4" in dtype:
        raise Refusal(f"{one_line(name)}: numbers of {dtype}, which are not read, as they mean nothing without their scales: save "
                      "tensor.to(torch.bfloat16) times its scale")
    require(dtype != "I8" and "qint" not in dtype and "quint" not in dtype, f"{one_line(name)}: quantized numbers "
            f"({'torch.int8' if dtype == 'I8' else dtype}), which are not read: dequantize() them first, or take the weights "
            "they were made of")
    require(dtype in PLAIN, f"{one_line(name)}: numbers of {dtype}, which no weights of a Transformer-XL are")
    require_no_repeats(name, tensor)


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


def write(tensors, arguments, files, directory):
    order, header = header_of(tensors)
    names = ["model.safetensors"] if arguments is None else ["model.safetensors", "args.json"]
    with replaced(*(os.path.join(directory, name) for name in names)) as (model, *others):
        model.write(header)
        for name in order:
            model.write(data_of(tensors[name], files[name].bytes_of(tensors[name].storage)))
        for output in others:
            output.write(json.dumps(arguments, indent=1).encode())


def require_no_other_output(directory):
    """Of a directory that holds what Segue or another program reads by the names that are written here."""
    for name, what in (("manifest.json", "a dataset or a checkpoint"), ("metrics.jsonl", "a run"), ("evaluation.json", "an evaluation"),
                       ("measure.json", "a comparison")):
        require(not os.path.exists(os.path.join(directory, name)),
                f"{one_line(directory)}: expected a directory for weights, found that of {what}; name another")


def write_in_directory(tensors, arguments, files, directory):
    require_no_other_output(directory)
    is_new = not os.path.isdir(directory)
    os.makedirs(directory, exist_ok=True)
    try:
        write(tensors, arguments, files, directory)
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


def file_in(directory):
    """The list of shards of a directory, or its only file of weights."""
    for name in ("pytorch_model.bin.index.json", "pytorch_model.bin"):
        if os.path.isfile(os.path.join(directory, name)):
            return os.path.join(directory, name)
    names = sorted(os.listdir(directory))
    lists = [name for name in names if name.endswith(".bin.index.json")]
    files = lists or [name for name in names if name.endswith((".pt", ".pth", ".bin", ".ckpt"))]
    known = what_directory(directory) if len(files) != 1 else None
    require(known is None, f"expected files of torch.save, found {known}")
    require(len(files) == 1, f"expected a directory with one file of torch.save or a list of its shards, found {len(files)} of them")
    return os.path.join(directory, files[0])


def shards_of(path):
    """Paths of the files that a list names, and the names of their tensors."""
    require(os.path.getsize(path) <= LARGEST_LIST, f"expected a list of at most {LARGEST_LIST} bytes")
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    names = content.get("weight_map") if isinstance(content, dict) else None
    require(isinstance(names, dict) and names and all(isinstance(shard, str) for shard in names.values()),
            "expected a list of shards with a weight_map from tensors to files, found another document")
    require(not any(shard.endswith(".safetensors") for shard in names.values()),
            "expected files of torch.save, found a list of safetensors, which segue import reads itself")
    shards = {}
    for name, shard in names.items():
        require(shard == os.path.basename(shard) and shard not in ("", ".", ".."), f"expected shards beside the list, found {one_line(shard)}")
        shards.setdefault(os.path.join(os.path.dirname(path), shard), set()).add(name)
    return shards


def read_shards(path):
    tensors, files = {}, {}
    for shard, names in shards_of(path).items():
        try:
            file = open_file(shard)
            found = state_dict_in(file.value())
            require(found, "expected a state_dict, found something else")
        except Refusal as refusal:
            raise Refusal(f"{one_line(os.path.basename(shard))}: {refusal}") from None
        wrong = sorted(found.keys() ^ names)
        require(not wrong, f"{one_line(os.path.basename(shard))}: expected the tensors that the list names, found "
                f"{'none' if wrong and wrong[0] in names else 'another'}: {one_line((wrong or [''])[0])}")
        tensors.update(found)
        files.update(dict.fromkeys(found, file))
    plain = plain_names(tensors)
    return {new: tensors[old] for new, old in plain.items()}, {new: files[old] for new, old in plain.items()}


def read(path):
    """What of it can be written elsewhere: of a vocabulary its words; of weights None, and tensors by name, the file of each, and
    the arguments or None."""
    if os.path.isdir(path):
        path = file_in(path)
    if path.endswith(".json"):
        tensors, files = read_shards(path)
        return None, tensors, files, None
    file = open_file(path)
    value = file.value()
    if (words := words_in(value)) is not None:
        return words, {}, {}, None
    tensors, arguments = contents_of(value)
    return None, tensors, dict.fromkeys(tensors, file), arguments


def bytes_of_files(files):
    return sum(file.size() for file in set(files.values()))


def convert(path, directory):
    words, tensors, files, arguments = read(path)
    if words is not None:
        return write_words(words, directory)
    source = source_of(tensors)
    for name, tensor in tensors.items():
        require_readable(name, tensor)
    size, most = sum(math.prod(t.shape) * t.storage.item_bytes for t in tensors.values()), MOST_COPIES * bytes_of_files(files)
    require(size <= most, f"its tensors are views that would take {size} bytes, expected at most {most}")
    require("__metadata__" not in tensors, "a tensor is named __metadata__, which safetensors cannot hold")
    write_in_directory(tensors, arguments, files, directory)
    print(f"{directory}: {len(tensors)} tensors{'' if arguments is None else ' and arguments'}; next:")
    print(next_step(source, directory, arguments is not None))


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the .pt or .bin file, a list of shards, or the directory of either")
    parser.add_argument("output", help="directory to write model.safetensors and args.json to, or vocabulary.txt")
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
