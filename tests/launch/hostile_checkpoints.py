"""Hostile checkpoints, as `hostile_files.py` has files of all other readers."""

import os
import shutil
import struct

from hostile_case import CHECKPOINT, CONFIG, ESCAPE, FILE, LARGE, OK, Case, kept, write_header
from tensor_files import read_safetensors, write_safetensors

NEWEST = "run/checkpoints/step-00000004"


def checkpoints():
    evaluate = ["eval", "--checkpoint", NEWEST, "--data", "../text"]
    resume = ["train", "--run", "run", "--resume"]
    inspect = ["inspect", NEWEST]

    def in_newest(name, change, sealed=True):
        def make(place):
            place.copy("run")
            shutil.rmtree(place.path("run/checkpoints/step-00000002"))
            change(place, os.path.join(NEWEST, name))
            if sealed:
                place.seal(place.path(NEWEST))
        return make

    def document(name, key, value):
        return in_newest(name, lambda place, path: place.edit(path, kept(key, value)))

    def content(name, change, sealed=True):
        return in_newest(name, lambda place, path: place.damage(path, change), sealed)

    for key, value in (("step", LARGE), ("step", 3), ("optimizer_step", LARGE), ("optimizer_step", -1), ("optimizer_step", 5), ("tokens", LARGE),
                       ("tokens", 10**30), ("epoch", LARGE), ("row", LARGE), ("best_step", LARGE), ("evaluations", LARGE),
                       ("seconds", 1e300), ("best_loss", None), ("plateau.rate", "x")):
        yield Case("checkpoint state", f"{key} {value}", resume, CHECKPOINT, ["state.json", key], document("state.json", key, value))
    yield Case("checkpoint state", "inspected", inspect, CHECKPOINT, ["tokens"], document("state.json", "tokens", LARGE))
    for key, value in (("vocab_size", LARGE), ("vocab_size", 2**30), ("tgt_len", LARGE), ("model.n_layer", LARGE), ("model.d_model", 65536), ("model.mem_len", LARGE),
                       ("model.n_layer", 3), ("model.head.cutoffs", [5, 3])):
        yield Case("checkpoint model", f"{key} {value}", evaluate, (CHECKPOINT, CONFIG), [], document("model.json", key, value))
    yield Case("checkpoint record", "controls in the host's name", inspect, OK, ["\\x1b[2J"], document("made_by.json", "host", ESCAPE))
    yield Case("checkpoint model", "controls in the tokenizer's name", inspect, OK, ["\\x1b[2J"], document("model.json", "tokenizer", ESCAPE))
    for value in ("../../evil.so", "x" * 10**6, ESCAPE, "", 3):
        yield Case("checkpoint model", f"extension {str(value)[:20]}", inspect, CHECKPOINT, ["model.json: extension"],
                   document("model.json", "extension", value))
    yield Case("checkpoint model", "200,000 open brackets", evaluate, CHECKPOINT, ["model.json"], content("model.json", lambda c: b"[" * 200000))
    yield Case("checkpoint config", "no document", resume, (CONFIG, CHECKPOINT), ["config.json"], content("config.json", lambda c: b"\0" * 100))
    yield Case("checkpoint config", "another optimizer", resume, CHECKPOINT, ["lamb"], document("config.json", "optimizer.kind", "lamb"))
    yield Case("checkpoint tokenizer", "a vocabulary nobody has", ["generate", "--checkpoint", NEWEST, "--prompt", "a"], CHECKPOINT, ["tokenizer.json"],
               document("tokenizer.json", "vocabulary", LARGE))

    for name in ("weights", "optimizer", "memory-00000"):
        file = name + ".safetensors"
        command = evaluate if name == "weights" else resume
        for what, change in (
                ("a header of 2^64-1 bytes", lambda c: b"\xff" * 8 + c[8:]),
                ("a header of brackets", lambda c: struct.pack("<Q", 100000) + b"[" * 100000),
                ("nothing", lambda c: b""),
                ("tensors cut off", lambda c: c[:-64]),
                ("a type nobody knows", lambda c: c.replace(b'"F32"', b'"F99"'))):
            yield Case("checkpoint tensors", f"{name}: {what}", command, CHECKPOINT, [file], content(file, change))
    yield Case("checkpoint tensors", "a tensor of 2^62 elements", evaluate, CHECKPOINT, ["weights.safetensors"],
               in_newest("weights.safetensors", lambda p, path: write_header(p, path, {"a": {"dtype": "F32", "shape": [2**31, 2**31], "data_offsets": [0, 4]}})))

    def memory(change):
        def edit(place, path):
            tensors = read_safetensors(place.path(path))
            change(tensors)
            write_safetensors(place.path(path), tensors)
        return in_newest("memory-00000.safetensors", edit)

    def fewer_streams(tensors):
        (streams, length, width), values = tensors["layers.1"]
        tensors["layers.1"] = ([streams - 1, length, width], values[length * width:])

    def flat(tensors):
        for name, (shape, values) in tensors.items():
            tensors[name] = ([len(values)], values)

    def shorter(tensors):
        (streams, length, width), values = tensors["layers.1"]
        tensors["layers.1"] = ([streams, length - 1, width], values[streams * width:])

    def longer(tensors):
        for name, ((streams, _, width), _) in tensors.items():
            tensors[name] = ([streams, 100, width], [0.0] * (streams * 100 * width))

    yield Case("checkpoint memory", "fewer streams in one layer", resume, CHECKPOINT, ["layers.1", "[2, "], memory(fewer_streams))
    for what, command in (("resumed", resume), ("planned", [*resume, "--dry-run"])):
        yield Case("checkpoint memory", f"one layer too few, {what}", command, CHECKPOINT, ["layers.1"],
                   memory(lambda t: t.pop("layers.1") and None))
    yield Case("checkpoint memory", "one dimension", resume, CHECKPOINT, ["layers.0", "expected 3 extents"], memory(flat))
    for what, command in (("resumed", resume), ("planned", [*resume, "--dry-run"])):
        yield Case("checkpoint memory", f"longer than the model's, {what}", command, CHECKPOINT, ["step-", "100"], memory(longer))
        yield Case("checkpoint memory", f"one layer shorter, {what}", command, CHECKPOINT, ["step-", "layer 1"], memory(shorter))

    def token(value):
        def make(place):
            place.copy("encoder")
            shutil.rmtree(place.path("encoder/checkpoints/step-00000002"))
            newest = "encoder/checkpoints/step-00000004"
            place.damage(os.path.join(newest, "memory-00000.safetensors"), lambda c: c[:-4] + struct.pack("<i", value))
            place.seal(place.path(newest))
        return make

    of_encoder = ["train", "--run", "encoder", "--resume"]
    for value in (256, -1, LARGE % 2**31):
        yield Case("checkpoint memory", f"token {value} of an encoder's", of_encoder, CHECKPOINT, ["step-00000004", "tokens", f"found {value}"], token(value))

    yield Case("checkpoint manifest", "controls in a file's name", inspect, CHECKPOINT, ["manifest.json"],
               in_newest("manifest.json", lambda p, path: p.edit(path, kept("files.0.name", ESCAPE)), sealed=False))
    yield Case("checkpoint manifest", "a file elsewhere", inspect, CHECKPOINT, ["manifest.json"],
               in_newest("manifest.json", lambda p, path: p.edit(path, kept("files.0.name", "../../../../text.txt")), sealed=False))
    yield Case("checkpoint manifest", "a pipe among its files", inspect, (CHECKPOINT, FILE), ["state.json"],
               in_newest("state.json", lambda p, path: (os.remove(p.path(path)), os.mkfifo(p.path(path))) and None, sealed=False))
    yield Case("checkpoint manifest", "100,000 open brackets", inspect, CHECKPOINT, ["manifest.json"], content("manifest.json", lambda c: b"[" * 100000, sealed=False))
    yield Case("checkpoint manifest", "a run whose name has controls", ["inspect", ESCAPE], FILE, ["\\x1b[2J"])
