"""Hostile files of models to import, as `hostile_files.py` has them of all other readers."""

import json
import os
import struct
import zipfile

from hostile_case import CHECKPOINT, CONFIG, ESCAPE, FILE, LARGE, Case, made_by, put, write_header


def npy(shape, data=b"", description="<f4", length=None):
    header = f"{{'descr': '{description}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) if length is None else length) + header + data


def imports():
    def command(model="file", args="../args.json", program="transformer-xl"):
        return ["import", "--from", program, "--model", model, "--args", args, "--output", "made"]

    def archive(*members, kind=zipfile.ZIP_DEFLATED):
        def make(place):
            with zipfile.ZipFile(place.path("file"), "w", kind) as file:
                for name, data in members:
                    file.writestr(name, data)
        return make

    tf = command(args="args.json", program="transformer-xl-tf")
    arguments = put("args.json", json.dumps({"n_token": 256, "cutoffs": [], "n_layer": 2, "d_model": 32, "d_embed": 32, "n_head": 2, "d_head": 16,
                                             "d_inner": 48, "tgt_len": 16, "mem_len": 24}))

    def with_arguments(make):
        return lambda place: (arguments(place), make(place)) and None

    zeros = npy("(30000000,)", bytes(120000000))  # a hundredth of it, packed
    for name, words, make in (
            ("120 MB of zeros", ["more than weights do"], archive(("a.npy", zeros))),
            ("as many behind four names", ["more than weights do"], archive(*((f"a{i}.npy", npy("(7500000,)", bytes(30000000))) for i in range(4)))),
            ("30,000 arrays", ["30000"], archive(*((f"a{i}.npy", npy("()", bytes(4))) for i in range(30000)), kind=zipfile.ZIP_STORED)),
            ("a name that leaves the directory", ["transformer/"], archive(("../../etc/passwd.npy", npy("()", bytes(4))))),
            ("pickled objects", ["pickled"], archive(("a.npy", npy("()", bytes(8), "|O")))),
            ("a shape that overflows", ["overflows"], archive(("a.npy", npy(f"({LARGE}, {LARGE})")))),
            ("a header of 64 KiB", ["header"], archive(("a.npy", npy("()", length=65535)))),
            ("a size that is not the shape's", ["needs"], archive(("a.npy", npy("(9,)", bytes(4))))),
            ("something else than arrays", [".npy"], archive(("a.pkl", b"cos\nsystem\n"))),
            ("controls in a name", ["file"], archive((ESCAPE + ".npy", npy("()", bytes(4))))),
            ("a directory cut off", ["archive"], lambda p: archive(("a.npy", npy("()", bytes(4))))(p) or p.damage("file", lambda c: c[:-30])),
            ("a signature alone", ["archive"], put("file", b"PK\x03\x04"))):
        yield Case("import npz", name, tf, (CHECKPOINT,), ["file", *words], with_arguments(make))

    def tensors(change):
        return made_by("model.safetensors", lambda p: os.rename(p.path("model.safetensors"), p.path("file")), lambda p: p.damage("file", change))

    for name, change in (
            ("a header beyond the file", lambda c: struct.pack("<Q", 2**40) + c[8:]),
            ("a header of 100,000 brackets", lambda c: struct.pack("<Q", 100000) + b"[" * 100000),
            ("cut off", lambda c: c[:-4]), ("nothing", lambda c: b""), ("8 bytes", lambda c: bytes(8)),
            ("a pickle", lambda c: b"\x80\x02cos\nsystem\nq\0X\4\0\0\0true\x85R."),
            ("whole numbers", lambda c: c.replace(b'"F32"', b'"I32"'))):
        yield Case("import safetensors", name, command(), CHECKPOINT, ["file"], tensors(change))

    def header(entries, data=bytes(4)):
        return lambda place: write_header(place, "file", entries, data)

    one = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    for name, entries in (
            ("offsets backwards", {"a": dict(one, data_offsets=[4, 0])}), ("a negative extent", {"a": dict(one, shape=[-1])}),
            ("two over one another", {"a": one, "b": one}), ("7 dimensions", {"a": dict(one, shape=[1] * 7)}),
            ("controls in a name", {ESCAPE: one}), ("an entry that is a list", {"a": [one]})):
        yield Case("import safetensors", name, command(), CHECKPOINT, ["file"], header(entries))

    for name, code, words, content in (
            ("100,000 open brackets", CHECKPOINT, ["index.json"], b"[" * 100000), ("a list", CHECKPOINT, ["weight_map"], b"[1]"),
            ("no map", CHECKPOINT, ["weight_map"], b"{}"), ("a map of numbers", CHECKPOINT, ["found 5"], b'{"weight_map": {"a": 5}}'),
            ("a file elsewhere", CHECKPOINT, ["beside the list"], b'{"weight_map": {"a": "../model.safetensors"}}'),
            ("an absolute path", CHECKPOINT, ["beside the list"], b'{"weight_map": {"a": "/etc/passwd"}}'),
            ("itself", CHECKPOINT, [".safetensors file"], b'{"weight_map": {"a": "model.safetensors.index.json"}}'),
            ("a file that is not there", FILE, ["none.safetensors"], b'{"weight_map": {"a": "none.safetensors"}}'),
            ("controls in names", CHECKPOINT, [".safetensors file"], json.dumps({"weight_map": {ESCAPE: ESCAPE}}).encode()),
            ("2,000 files", CHECKPOINT, ["1024"], json.dumps({"weight_map": {f"a{i}": f"{i}.safetensors" for i in range(2000)}}).encode())):
        yield Case("import shards", name, command("model.safetensors.index.json"), code, words, put("model.safetensors.index.json", content))
    yield Case("import shards", "100,000 wrappers in a name", command(), CHECKPOINT, ["file"], header({"_orig_mod." * 100000 + "word_emb.emb_layers.0.weight": one}))
    yield Case("import shards", "3,000 first tables", command(), CHECKPOINT, ["file"], header(
        {f"{i}.word_emb.emb_layers.0.weight": dict(one, shape=[0], data_offsets=[0, 0]) for i in range(3000)}, b""))
    yield Case("import", "8-bit floats", command(), CHECKPOINT, ["F8_E4M3", "scales"], header({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}))
    for name, says, content in (("a.pt", "convert_torch.py", b"\x80\2N."), ("a.gguf", "GGUF", b"GGUF" + bytes(100)), ("a.onnx", "ONNX", b"\x08\7"),
                                ("a.h5", "Keras", b"\x89HDF\r\n\x1a\n"), ("a.msgpack", "Flax", b"\x81\xa1a\1"), ("a.ckpt.index", "TensorFlow", bytes(48)),
                                ("a.ckpt.data-00000-of-00001", "TensorFlow", bytes(48)), ("a.distcp", "dcp_to_torch", bytes(9))):
        yield Case("import", f"is {says}", command(name), CHECKPOINT, [name, says], put(name, content))

    for program in ("transformer-xl", "nvidia", "huggingface", "transformer-xl-tf"):
        for name, content in (("a list", b"[1, 2]"), ("no layers", b'{"n_layer": 0}'), ("2^63-1 layers", json.dumps({"n_layer": LARGE}).encode())):
            yield Case("import arguments", f"{program}: {name}", command("../model.safetensors", "file", program), CONFIG, ["file"], put("file", content))
    yield Case("import arguments", "a model of 10^12 weights", command("../model.safetensors", "args.json"), (CONFIG, CHECKPOINT), [],
               made_by("args.json", lambda p: p.edit("args.json", lambda d: d.update(n_layer=1000, d_model=16384, d_inner=65536))))
