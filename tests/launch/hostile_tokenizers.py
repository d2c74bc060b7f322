"""Hostile tokenizers of other programs: tokenizer.json files and ranks of tiktoken."""

import base64
import copy
import json

from hostile_case import DATA, ESCAPE, FILE, LARGE, USAGE, Case, put

MODEL = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<0x0A>": 3}, "merges": ["a b"]}
SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}


def document(**changes):
    return json.dumps({"version": "1.0", "added_tokens": [], "model": MODEL, **changes}).encode()


def model(**changes):
    return document(model={**copy.deepcopy(MODEL), **changes})


def unigram(**changes):
    return document(model={"type": "Unigram", "vocab": [["a", -1]], **changes})


def regex(pattern):
    return document(pre_tokenizer={**SPLIT, "pattern": {"Regex": pattern}})


def charsmap(data):
    return document(normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()})


def nested(depth):
    steps = {"type": "NFC"}
    for _ in range(depth):
        steps = {"type": "Sequence", "normalizers": [steps]}
    return steps


def grows(steps):
    double = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    return {"type": "Sequence", "normalizers": [double] * steps}


def tokenizers():
    def prepare(text="../text.txt"):
        return ["prepare", "--tokenizer", "file", "--train", text, "--output", "made"]

    whole = document()
    files = {
        "open objects": (b'{"a":' * 100000, []),
        "half of it": (whole[:len(whole) // 2], ["file"]),
        "a key twice": (b'{"model": 1, "model": 2}', ["model"]),
        "no model": (b"{}", ["model"]),
        "a model that is a number": (document(model=5), ["model"]),
        "a model with controls": (model(type=ESCAPE), ["model.type"]),
        "a key with controls": (document(**{ESCAPE: 1}), ["no such key"]),
        "a token of 2^63": (model(vocab={"a": LARGE}), ["model.vocab.a"]),
        "a token of 2^31": (model(vocab={"a": 2**31 - 1}), ["model.vocab.a"]),
        "a token of -1": (model(vocab={"a": -1}), ["model.vocab.a"]),
        "a token of 1.5": (model(vocab={"a": 1.5}), ["model.vocab.a"]),
        "two tokens of a number": (model(vocab={"a": 0, "b": 0}), ["model.vocab.b"]),
        "tokens as a list": (model(vocab=[1, 2]), ["model.vocab"]),
        "no tokens": (model(vocab={}), ["model.vocab"]),
        "tokens of 9 MB": (model(vocab={"a" * (3 << 20): 0, "b" * (3 << 20): 1, "c" * (3 << 20): 2}), ["bytes together"]),
        "merges of no tokens": (model(merges=["a c"]), ["model.merges[0]"]),
        "merges of numbers": (model(merges=[1, 2]), ["model.merges[0]"]),
        "merges of three": (model(merges=[["a", "b", "c"]]), ["model.merges[0]"]),
        "a prefix of 1 MB": (model(continuing_subword_prefix="#" * (1 << 20)), ["continuing_subword_prefix"]),
        "ten million values": (b'{"model":[' + b"1," * 10_000_000 + b"1]}", ["file"]),
        "a score that is text": (unigram(vocab=[["a", "b"]]), ["model.vocab[0]"]),
        "an unknown token beyond": (unigram(unk_id=9), ["model.unk_id"]),
        "added tokens far away": (document(added_tokens=[{"id": 4000000, "content": "c"}]), ["added_tokens[0].id"]),
        "an added token with controls": (document(added_tokens=[{"id": 0, "content": ESCAPE}]), ["added_tokens[0].id"]),
        "normalizers in one another": (document(normalizer=nested(200)), []),
        "normalizers that double 60 times": (document(normalizer=grows(60)), ["16 MiB"]),
        "an expression that is not closed": (regex("(a"), ["pre_tokenizer.pattern.Regex"]),
        "an expression that is too large": (regex("((a{1,60000}){1,60000}){1,60000}"), ["pre_tokenizer.pattern.Regex"]),
        "10,000 brackets": (regex("(" * 10000 + ")" * 10000), ["pre_tokenizer.pattern.Regex"]),
        "an expression with controls": (regex(f"(?{ESCAPE})"), ["pre_tokenizer.pattern.Regex"]),
        "a table of nothing": (charsmap(b""), ["precompiled_charsmap"]),
        "a table of 4 GB": (charsmap(b"\xff\xff\xff\xffab"), ["precompiled_charsmap"]),
        "ranks without bytes": (b"YQ== 1\nYg== 2\n", ["encoding"]),
        "neither": (b"PK\3\4" + bytes(1000), ["file"]),
        "zeros": (bytes(100000), ["file"]),
    }
    for name, (content, words) in files.items():
        code = USAGE if name == "ranks without bytes" else DATA
        yield Case("ready-made tokenizer", name, prepare(), code, words, put("file", content))

    def without_end(place):
        place.write("file", regex("(?:[a-z]|[a-z][a-z])+[0-9]"))
        place.write("word.txt", "abcdefghijklmnopqrstuvwxyz" * 4 + " the end of a line\n")
    yield Case("ready-made tokenizer", "an expression without an end", prepare("word.txt"), DATA, ["word.txt", "takes too long"], without_end)
    yield Case("ready-made tokenizer", "2 GiB of holes", prepare(), (DATA, FILE), ["file"], lambda p: p.sparse("file", 2**31, b"{"))
    ranks = b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    lines = {"a line of 8 MB": b"YWFh" * (3 << 20) + b" 999\n", "a rank of 2^62": b"YWFh %d\n" % 2**62, "no number": b"YWFh x\n",
             "a rank with controls": b"YWFh " + ESCAPE.encode() + b"\n", "a rank twice": b"YWFh 7\n", "a text twice": b"YQ== 700\n"}
    for name, line in lines.items():
        yield Case("ranks", name, [*prepare(), "--encoding", "gpt2"], DATA, ["line 257"], put("file", ranks + line))
    yield Case("ranks", "an encoding with controls", [*prepare(), "--encoding", ESCAPE], USAGE, ["encoding"], put("file", ranks))
