"""Hostile files, reader by reader: what each is, the command that reads it, and how the program has to end.

`cases(workplace)` yields them. A case's files are made by `make(place)` in a directory of its own, in which the command
runs; `../` has sound ones of everything: text.txt, text (a dataset), run.json, run, losses.h5, model.safetensors, args.json.
"""

import functools
import gzip
import json
import math
import os
import socket
import struct
import zlib

import hdf5_files as h5
from hostile_case import CHECKPOINT, CONFIG, DATA, DEVICE, ESCAPE, FILE, LARGE, OK, USAGE, Case, kept, made_by, put
from hostile_checkpoints import checkpoints
from hostile_imports import imports
from hostile_tokens import token_files
from hostile_tokenizers import tokenizers


# What is no regular file, under the name `file`.

def pipe(place):
    os.mkfifo(place.path("file"))


def listening_socket(place):
    here = os.getcwd()
    os.chdir(place.directory)  # addresses of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("file")
    os.chdir(here)


def loop(place):
    os.symlink("file", place.path("file"))


def dangling(place):
    os.symlink("nowhere", place.path("file"))


def device(place):
    os.symlink("/dev/zero", place.path("file"))


def directory(place):
    os.mkdir(place.path("file"))


def of_no_kind():
    readers = {
        "prepare": (["prepare", "--train", "file", "--output", "made"], (DATA, FILE)),
        "raw tokens": (["prepare", "--format", "uint16", "--vocab-size", 9, "--train", "file", "--output", "made"], (DATA, FILE)),
        "tokenizer": (["prepare", "--tokenizer", "word", "--vocabulary", "file", "--train", "../text.txt", "--output", "made"],
                      (DATA, FILE)),
        "ready-made tokenizer": (["prepare", "--tokenizer", "file", "--train", "../text.txt", "--output", "made"], (DATA, FILE)),
        "config": (["train", "file", "--run", "made"], (CONFIG, FILE)),
        "import": (["import", "--model", "file", "--args", "../args.json", "--output", "made"], (CHECKPOINT, FILE)),
        "arguments": (["import", "--model", "../model.safetensors", "--args", "file", "--output", "made"], (CONFIG, FILE)),
        "per-token": (["effective-context", "--model", "a", "file@1", "../losses.h5@2"], (DATA, FILE)),
        "prompt": (["generate", "--checkpoint", "../run", "--prompt-file", "file"], (DATA, FILE)),
        "score": (["generate", "--checkpoint", "../run", "--score", "file"], (DATA, FILE)),
        "evaluation settings": (["eval", "--checkpoint", "../run", "--data", "../text", "--config", "file"], (CONFIG, FILE)),
        "dataset": (["train", "../run.json", "--set", "data.path=file", "--run", "made"], (DATA, FILE)),
        "checkpoint": (["eval", "--checkpoint", "file", "--data", "../text"], (CHECKPOINT, FILE)),
        "report": (["report", "file", "--output", "page.html"], (USAGE, DATA, CHECKPOINT, FILE)),
        "extension": (["inspect", "../run.json", "--extension", "file"], (CONFIG, FILE)),
        "inspect": (["inspect", "file"], (USAGE, DATA, CHECKPOINT, FILE)),
    }
    for reader, (command, codes) in readers.items():
        kinds = [pipe, device] if reader not in ("prepare", "config", "inspect") else [
            pipe, listening_socket, loop, dangling, device, directory]
        for kind in kinds:
            yield Case(reader, "is a " + kind.__name__, command, codes, [] if kind is device else ["file"], kind)


def texts():
    def prepare(*more, name="file.txt"):
        return ["prepare", *more, "--train", name, "--output", "made"]

    yield Case("prepare", "control characters in its name", prepare(name=ESCAPE + ".txt"), DATA, ["\\x1b[2J"])
    yield Case("prepare", "nothing", prepare(), DATA, ["file.txt"], put("file.txt", b""))
    yield Case("raw tokens", "half a token", prepare("--format", "uint16", "--vocab-size", 5), DATA, ["3"], put("file.txt", b"\1\0\2"))
    yield Case("raw tokens", "outside the vocabulary", prepare("--format", "uint32", "--vocab-size", 5), DATA, ["4294967295", "5"],
               put("file.txt", b"\xff" * 8))
    yield Case("tokenizer", "a word list with controls twice", prepare("--tokenizer", "word", "--vocabulary", "words", name="../text.txt"),
               DATA, [], put("words", "<unk>\n" + ESCAPE + "\n" + ESCAPE + "\n"))
    yield Case("tokenizer", "a word list of zeros", prepare("--tokenizer", "word", "--vocabulary", "words", name="../text.txt"),
               DATA, [], put("words", b"\0" * 100000))


def configs():
    def train(file="file.json", *more):
        return ["train", file, *more, "--run", "made"]

    documents = {
        "100,000 open brackets": b"[" * 100000,
        "100,000 open objects": b'{"a":' * 100000,
        "a key twice": b'{"data": {"path": "a", "path": "b"}}',
        "NaN": b'{"training": {"max_step": NaN}}',
        "1e999": b'{"optimizer": {"lr": 1e999}}',
        "no UTF-8": b'{"data": {"path": "\xff\xfe"}}',
        "UTF-16": '{"data": {"path": "text"}}'.encode("utf-16"),
        "a number of 100,000 digits": b'{"training": {"max_step": ' + b"9" * 100000 + b"}}",
        "controls in a key": json.dumps({ESCAPE: 1}).encode(),
        "a key of 512 KiB": b'{"' + b"k" * 2**19 + b'": 1}',
    }
    for name, content in documents.items():
        yield Case("config", name, train(), CONFIG, ["file.json"], put("file.json", content))
    yield Case("config", "2 GiB of holes", train(), (CONFIG, FILE), ["file.json"], lambda p: p.sparse("file.json", 2**31))
    for key, value in (("model.n_layer", LARGE), ("model.d_model", LARGE), ("training.batch_size", LARGE), ("model.mem_len", -1),
                       ("training.max_step", "1e308"), ("model.head.cutoffs", "[9,3]"), ("model.dropout", "nan"), ("seed", -2**63)):
        yield Case("override", f"{key}={value}", train("../run.json", "--set", f"{key}={value}"), CONFIG, [key.split(".")[-1]])
    yield Case("override", "controls", train("../run.json", "--set", f"model.{ESCAPE}=1"), CONFIG, ["unknown key"])
    yield Case("config", "more weights than there is memory", ["train", "../run.json", "--set", "data.path=../text", "--set", "model.d_model=65536", "--set",
               "model.d_inner=262144", "--set", "model.n_layer=64", "--run", "made"], (CONFIG, DEVICE), [])


def manifests():
    def edited(change):
        return made_by("text", lambda place: place.edit("text/manifest.json", change))

    train = ["train", "../run.json", "--set", "data.path=text", "--run", "made"]
    for name, key, value, words in (
            ("tokens nobody has", "splits.0.shards.0.tokens", 10**15, ["tokens"]),
            ("a negative count", "splits.0.tokens", -5, ["splits[0].tokens"]),
            ("a shard elsewhere", "splits.0.shards.0.file", "../../text.txt", ["file name"]),
            ("a shard of an absolute path", "splits.0.shards.0.file", "/etc/passwd", ["file name"]),
            ("a shard with controls", "splits.0.shards.0.file", ESCAPE, ["shards[0].file"]),
            ("a split with controls", "splits.0.name", ESCAPE, ["splits[0].name"]),
            ("a vocabulary beyond the type", "tokenizer.vocabulary", 2**40, ["tokenizer.vocabulary"]),
            ("another version", "version", 2, ["version"]),
            ("splits that are a number", "splits", 7, ["splits"]),
            ("a tokenizer of no kind", "tokenizer.kind", ESCAPE, ["tokenizer.kind"])):
        yield Case("dataset manifest", name, train, DATA, ["manifest.json", *words], edited(kept(key, value)))

    def with_many_tokens(document):
        for place in (document["splits"][0], document["splits"][0]["shards"][0]):
            place["tokens"] = 10**15 - 800
        document["splits"][0]["bytes"] = 10**15 - 800

    yield Case("dataset manifest", "10^15 tokens, all counts alike", ["inspect", "text", "--verify"], DATA, ["train-00000.h5"],
               edited(with_many_tokens))
    controls = edited(lambda d: kept("command", ESCAPE + "\nsplit train: 9 tokens")(d) or kept("sources.0.file", ESCAPE)(d))
    yield Case("dataset manifest", "controls in what inspect prints", ["inspect", "text"], OK, ["\\x1b[2J", "\\x0asplit"], controls)
    yield Case("dataset manifest", "50,000 splits", train, DATA, [],
               edited(lambda d: d["splits"].extend(dict(d["splits"][0], name=f"s{i}") for i in range(50000))))


SHARD_ATTRIBUTES = (h5.attribute("format", h5.text_type(13), b"segue-shard-1"), h5.attribute("split", h5.text_type(5), b"train"),
                    h5.attribute("index", struct.pack("<B3sIHH", 0x10, b"\x08\0\0", 8, 0, 64), bytes(8)))


def hostile_rows():
    """Name, words of the error, and what makes the datasets `nll` and `targets` of a file."""
    def with_row(make):
        def build(name, kind, letter):
            file = h5.Hdf5File()
            file.rows = 40 if name == "nll" else 3200
            if name == "nll":
                file.row("targets", h5.INT32, "i", range(40))
            else:
                file.more = SHARD_ATTRIBUTES
            make(file, name, kind)
            return file
        return build

    def chunk(file, name, kind, elements, packed, *more):
        file.dataset(name, kind, [file.rows], h5.one_chunk(elements, kind[4], file.place(packed), len(packed)), *more)

    def bomb(file, name, kind):
        packed = bytes(1500000)
        file.dataset(name, kind, [400000000], h5.one_chunk(400000000, kind[4], file.place(packed), len(packed)), h5.filters(h5.DEFLATE))

    def looping_tree(file, name, kind):
        here = len(file.data)
        file.place(h5.tree_node(1, (file.rows * kind[4], 0, here)))
        file.dataset(name, kind, [file.rows], h5.chunk_tree(file.rows, kind[4], here))

    def overlapping(file, name, kind):
        chunk_at = file.place(bytes(100 * kind[4]))
        tree = file.place(h5.tree_node(0, *((100 * kind[4], 100 * i, chunk_at) for i in range(2000))))
        file.dataset(name, kind, [200000], h5.chunk_tree(100, kind[4], tree))

    def under(kind, make, name_of_index=b"", version=4, **more):
        """A row of chunks of one element, whose index `make(file, address of the next object)` gives the bytes of."""
        def build(file, name, element):
            file.place(bytes(8 * file.rows))  # as many chunks would fit
            here = len(file.data)
            address = file.place(make(file, here, element))
            file.dataset(name, element, [file.rows], h5.indexed(kind, 1, element[4], name_of_index, address, version, **more))
        return with_row(build)

    def of_array(*blocks, later=(), **head):
        """An extensible array of which the first entries are right, and `blocks` lead where they say."""
        def make(file, here, element):
            head_bytes = 72
            listed, rest = [blocks[0] if blocks else h5.NOWHERE] * 6, (list(later) + [h5.NOWHERE] * 25)[:25]
            return h5.array_head(block=here + head_bytes, **head) + h5.array_index(here, [48] * 4, listed, rest)
        return under(4, make, bytes(5))

    def of_tree(make, record_bytes=16, **more):
        return under(5, lambda file, here, element: make(here) + bytes(64), bytes(6))

    def record(index):
        return struct.pack("<QQ", 48, index)

    def endless(file, name, kind):
        file.version, file.flags = 3, 1
        file.dataset(name, kind, [2**62], h5.contiguous(48, 40))

    yield "an extensible array that lies nowhere", ["missing"], under(4, lambda f, h, k: h5.array_head(), bytes(5))
    yield "an extensible array without blocks", ["missing"], of_array()
    yield "an extensible array whose blocks lie beyond the file", ["file of"], of_array(2**40)
    yield "an extensible array that is its own block", ["damaged"], under(
        4, lambda f, h, k: h5.array_head(block=h + 72) + h5.sealed(
            b"EAIB" + struct.pack("<BBQ35Q", 0, 0, h, *[48] * 4, *[h + 72] * 6, *[h + 72] * 25)) + bytes(200), bytes(5))
    for what, head in (("entries of no bytes", {"entry_bytes": 0}), ("entries of 255 bytes", {"entry_bytes": 255}), ("no bits", {"index_bits": 0}),
                       ("255 bits", {"index_bits": 255}), ("blocks of no entries", {"least": 0}), ("blocks of 3 entries", {"least": 3}),
                       ("no pointers", {"pointers": 0}), ("1 pointer", {"pointers": 1}), ("more pointers than bits", {"pointers": 128, "index_bits": 16}),
                       ("pages of 2^255 entries", {"page_bits": 255}), ("entries with filters", {"client": 1})):
        yield f"an extensible array: {what}", ["damaged"], of_array(**head)
    yield "an extensible array with 255 entries in its index", [], of_array(in_index=255)
    yield "a layout of version 6", ["version"], under(4, lambda f, h, k: h5.array_head(), bytes(5), version=6)
    yield "an index of chunks of kind 6", ["kind"], under(6, lambda f, h, k: h5.array_head(), bytes(5))
    yield "a second tree that leads round", ["damaged"], of_tree(
        lambda h: h5.second_tree(10, 16, h + 38, 1, 10, depth=1) + h5.second_node(10, [record(0)], [(h + 38, 1), (h + 38, 1)]))
    yield "a second tree of the same leaf everywhere", ["in order"], of_tree(
        lambda h: h5.second_tree(10, 16, h + 38, 1, 3, depth=1) + h5.second_node(
            10, [record(1)], [(h + 38 + 10 + 34, 1), (h + 38 + 10 + 34, 1)]) + h5.second_leaf(10, record(0)))
    for what, tree in (("2^60 records", lambda h: h5.second_tree(10, 16, h, 65535, 2**60)), ("records of 65,535 bytes", lambda h: h5.second_tree(10, 65535, h, 1, 1)), ("nodes of 4 bytes", lambda h: h5.second_tree(10, 16, h, 1, 1, 0, 4)),
                       ("65,535 levels", lambda h: h5.second_tree(10, 16, h, 1, 1, 65535)), ("no records said", lambda h: h5.second_tree(10, 16, h, 1, 0)),
                       ("records of names", lambda h: h5.second_tree(8, 16, h, 1, 1))):
        yield f"a second tree: {what}", ["missing"] if what == "no records said" else ["damaged"], of_tree(tree)
    yield "a second tree: a chunk of another row", ["in order"], of_tree(
        lambda h: h5.second_tree(10, 16, h + 38, 1, 1) + h5.second_leaf(10, record(7)))
    yield "a second tree: a chunk too many", ["in order"], with_row(lambda f, n, k: f.dataset(n, k, [2], h5.indexed(
        5, 1, k[4], bytes(6), f.place(h5.second_tree(10, 16, len(f.data) + 38, 3, 3) + h5.second_leaf(10, record(0), record(1), record(2))))))
    yield "a soft link", ["soft link"], with_row(lambda f, n, k: f.soft_link(n, "/targets"))
    yield "a link to another file", ["link to another file"], with_row(lambda f, n, k: f.external_link(n, "../losses.h5", "/nll"))
    yield "external storage", ["external files"], with_row(
        lambda f, n, k: f.dataset(n, k, [f.rows], h5.contiguous(h5.NOWHERE, f.rows * k[4]), f.external_files("none", f.rows * k[4])))
    yield "a virtual dataset", ["virtual"], with_row(lambda f, n, k: f.dataset(n, k, [f.rows], h5.virtual()))
    yield "a chunk of 2 GiB", ["chunks of at most"], with_row(lambda f, n, k: chunk(f, n, k, 2**31 // k[4], b"x", h5.filters(h5.DEFLATE)))
    yield "a chunk of no elements", ["chunks of at most"], with_row(lambda f, n, k: f.dataset(n, k, [40], h5.chunk_tree(0, k[4], 48)))
    yield "1.5 MB that inflate to 1.5 GB", ["chunks of at most"], with_row(bomb)
    yield "a megabyte deflated for less", ["inflated"], with_row(
        lambda f, n, k: chunk(f, n, k, f.rows, zlib.compress(bytes(10**6), 9), h5.filters(h5.DEFLATE)))
    yield "a chunk that is no deflate stream", ["inflated"], with_row(lambda f, n, k: chunk(f, n, k, f.rows, b"\xff" * 60, h5.filters(h5.DEFLATE)))
    yield "an unknown filter", ["filter 4"], with_row(lambda f, n, k: chunk(f, n, k, f.rows, bytes(160), h5.filters(h5.SZIP)))
    yield "a wrong checksum", ["checksum"], with_row(lambda f, n, k: chunk(f, n, k, f.rows, b"\1" * (f.rows * k[4] + 4), h5.filters(h5.FLETCHER32)))
    yield "a tree of chunks that leads round", ["damaged"], with_row(looping_tree)
    yield "chunks one over the other", ["over others"], with_row(overlapping)
    yield "elements beyond the file", ["bytes"], with_row(lambda f, n, k: f.dataset(n, k, [f.rows], h5.contiguous(2**40, f.rows * k[4])))
    yield "2^62 elements", ["elements"], with_row(endless)
    yield "two dimensions", ["one-dimensional"], with_row(lambda f, n, k: f.dataset(n, k, [5, 8], h5.contiguous(48, 160)))
    yield "text for numbers", ["numbers"], with_row(lambda f, n, k: f.dataset(n, h5.text_type(4), [40], h5.contiguous(48, 160)))
    yield "no layout", ["layout"], with_row(lambda f, n, k: f.dataset(n, k, [40], b""))


def rows():
    compare = ["effective-context", "--model", "a", "file.h5@1", "../losses.h5@2"]
    train = ["train", "../run.json", "--set", "data.path=text", "--run", "made"]

    def of_losses(build):
        return lambda place: place.write("file.h5", build("nll", h5.FLOAT32, "f").finish())

    def of_tokens(build):
        return made_by("text", lambda place: place.write("text/train-00000.h5", build("tokens", h5.UINT8, "B").finish()))

    for name, words, build in hostile_rows():
        yield Case("per-token", name, compare, DATA, ["file.h5", *words], of_losses(build))
        yield Case("HDF5 shard", name, train, DATA, ["train-00000.h5", *words], of_tokens(build))

    def losses(*attributes, nll=(0.5,) * 40, targets=range(40), runs=()):
        def make(place):
            file = h5.Hdf5File()
            file.row("nll", h5.FLOAT32, "f", nll)
            if runs:
                file.row("runs", h5.INT32, "i", runs)
            file.row("targets", h5.INT32, "i", targets)
            place.write("file.h5", file.finish(*attributes))
        return make

    yield Case("per-token", "an infinite loss", compare, DATA, ["nll[3]"], losses(nll=[1, 1, 1, float("inf")] + [1] * 36))
    yield Case("per-token", "fewer targets", compare, DATA, ["39 targets"], losses(targets=range(39)))
    yield Case("per-token", "controls in an attribute", compare, DATA, ["format"],
               losses(h5.attribute("format", h5.text_type(5), b"\x1b[2J\n")))
    yield Case("per-token", "an attribute of 4 GiB", compare, DATA, ["split"], losses(h5.attribute("split", h5.text_type(2**32 - 1), b"x")))
    yield Case("per-token", "a number for a text", compare, DATA, ["split"], losses(h5.attribute("split", h5.INT32, bytes(4))))
    said = h5.attribute("example_runs", h5.INT32, struct.pack("<i", 2))
    yield Case("per-token", "runs of examples that are not there", compare, DATA, ["runs"], losses(said))
    for runs, word in (((20, 21), "runs[1]"), ((-1, 41), "runs[0]"), ((2**31 - 1, 1), "runs[0]"), ((20, 19), "39")):
        yield Case("per-token", f"runs of {runs} examples", compare, DATA, ["file.h5", word], losses(said, runs=runs))
    for reason, more in (("null", {"extents": h5.NULL_EXTENTS}), ("shares its type", {"flags": h5.SHARED_TYPE})):
        yield Case("per-token", f"a split that is of no use: {reason}", compare, DATA, ["split", "none" if reason == "null" else reason],
                   losses(h5.attribute("split", h5.text_type(4), b"test", **more)))
        yield Case("per-token", f"a stranger's attribute: {reason}", compare, DATA, ["format"],
                   losses(h5.attribute("stranger", h5.text_type(4), b"test", **more), h5.attribute("format", h5.text_type(1), b"x")))

    def listed(names, entries, nodes):
        def make(place):
            file = h5.Hdf5File()
            place.write("file.h5", file.finish_with(file.symbol_table(names, entries, nodes)))
        return make

    yield Case("per-token", "a list of datasets that is everywhere the same node", compare, DATA, ["more than 65536 entries"],
               listed(b"x" * (8 << 20), [(0, 48)] * 65535, 4095))
    yield Case("per-token", "65,535 names of 8 MiB", compare, DATA, ["file.h5", "found none"], listed(b"x" * (8 << 20), [(0, 48)] * 65535, 1))
    yield Case("per-token", "a signature alone", compare, DATA, ["file.h5"], put("file.h5", b"\x89HDF\r\n\x1a\n"))
    yield Case("per-token", "cut off", compare, DATA, ["cut off"],
               made_by("losses.h5", lambda p: p.damage("losses.h5", lambda c: c[:-100]), lambda p: os.rename(p.path("losses.h5"), p.path("file.h5"))))

    def shard(change):
        return made_by("text", lambda place: place.damage("text/train-00000.h5", change))

    yield Case("HDF5 shard", "missing", train, DATA, ["train-00000.h5"], made_by("text", lambda p: os.remove(p.path("text/train-00000.h5"))))
    yield Case("HDF5 shard", "a pipe", train, FILE, ["pipe"],
               made_by("text", lambda p: os.remove(p.path("text/train-00000.h5")), lambda p: os.mkfifo(p.path("text/train-00000.h5"))))
    yield Case("HDF5 shard", "zeros", train, DATA, ["train-00000.h5"], shard(lambda c: bytes(len(c))))
    yield Case("HDF5 shard", "cut off", train, DATA, ["cut off"], shard(lambda c: c[:len(c) // 2]))
    yield Case("HDF5 shard", "tokens changed", train, DATA, ["checksum"], shard(lambda c: c[:-300] + b"\xee" * 10 + c[-290:]))
    yield Case("HDF5 shard", "a root group nowhere", train, DATA, ["train-00000.h5"], shard(lambda c: c[:64] + b"\xff" * 8 + c[72:]))
    yield Case("HDF5 shard", "a list of datasets that is its own child", train, DATA, ["train-00000.h5"],
               shard(lambda c: c.replace(b"TREE\0\0", b"TREE\0\1")))


def runs():
    report = ["report", "run", "--output", "page.html"]

    def lines(content):
        return made_by("run", lambda place: place.write("run/metrics.jsonl", content))

    for name, content in (("no JSON", b"not json\n"), ("100,000 open brackets", b"[" * 100000 + b"\n"), ("a list", b"[1]\n"),
                          ("text for numbers", b'{"step": "x", "loss": 1}\n'), ("zeros", bytes(1000) + b"\n"),
                          ("a step of 2^64", b'{"step": 18446744073709551616, "loss": 1}\n')):
        yield Case("metrics", name, report, (DATA,), ["metrics.jsonl"], lines(content))
    yield Case("metrics", "2 GiB of holes", report, (DATA, FILE), ["metrics.jsonl"], made_by("run", lambda p: p.sparse("run/metrics.jsonl", 2**31)))
    yield Case("metrics", "a pipe", report, (DATA, FILE), ["metrics.jsonl"],
               made_by("run", lambda p: os.remove(p.path("run/metrics.jsonl")), lambda p: os.mkfifo(p.path("run/metrics.jsonl"))))

    def evaluation(content):
        def make(place):
            place.copy("run")
            os.makedirs(place.path("run/evaluations/one"))
            place.write("run/evaluations/one/evaluation.json", content)
        return make

    for name, content in (("brackets", b"[" * 100000), ("nothing", b""), ("an object", b"{}"), ("results that are a number", b'{"format": "segue-evaluation", "version": 1, "results": 5}'),
                          ("zeros", bytes(5000))):
        yield Case("evaluation", name, report, DATA, ["evaluation.json"], evaluation(content))

    share = {"answers": 4, "accuracy": 0.5, "confidence95": 0.1}
    hard = {"example": 0, "begin": 0, "answers": 4, "right": 1, "first_wrong": {"offset": 3, "distance": 2}, "tokens": [1, 2, 3, 4]}
    answers = {**share, "by_examples": [{"tokens": 9, "traits": {"items": 4}, **share}],
               "by_distance": [{"from": 1, "to": 2, **share}], "hardest": [hard]}
    line = {"mode": "memory", "mem_len": 0, "tgt_len": 8, "context": 8, "tokens": 4, "loss": 1.0}
    whole = {"format": "segue-evaluation", "version": 1, "command": "segue eval", "split": "test", "trained": {"mem_len": 0, "tgt_len": 8}}
    for name, changes in (("accuracy of 2", {"accuracy": 2}), ("accuracy of 1e999", {"accuracy": math.inf}),
                          ("no answers", {"answers": 0}), ("2^63 answers", {"answers": 2**63}), ("answers as text", {"answers": "4"}),
                          ("an interval below 0", {"confidence95": -1}), ("examples that are a number", {"by_examples": 1}),
                          ("traits that are a list", {"by_examples": [{"tokens": 9, "traits": [4], **share}]}),
                          ("a distance to before it", {"by_distance": [{"from": 5, "to": 2, **share}]}),
                          ("more right ones than answers", {"hardest": [{**hard, "right": 9}]}),
                          ("no tokens", {"hardest": [{**hard, "tokens": []}]}),
                          ("texts of other tokens", {"hardest": [{**hard, "texts": [ESCAPE]}]}),
                          ("a longest example of -1", {"longest_trained": -1}), ("a list", [])):
        document = {**whole, "results": [{**line, "answers": {**answers, **changes} if isinstance(changes, dict) else changes}]}
        content = json.dumps(document).replace("Infinity", "1e999").encode()
        yield Case("evaluation", name, report, DATA, ["evaluation.json"], evaluation(content))
    yield Case("evaluation settings", "an unknown key with controls", ["eval", "--checkpoint", "../run", "--data", "../text", "--config", "file"],
               CONFIG, ["file"], put("file", json.dumps({ESCAPE: 1})))


@functools.cache
def gzip_of_one_letter():
    """In members of 64 MiB, so that it is made in a moment."""
    return gzip.compress(b"a" * 2**26, 9) * 16


def prompts():
    yield Case("prompt", "controls in its name", ["generate", "--checkpoint", "../run", "--prompt-file", ESCAPE], FILE, ["\\x1b[2J"])
    yield Case("prompt", "2 GiB of holes", ["generate", "--checkpoint", "../run", "--prompt-file", "file"], (DATA, FILE), ["file"], lambda p: p.sparse("file", 2**31))
    yield Case("score", "nothing", ["generate", "--checkpoint", "../run", "--score", "file"], DATA, [], put("file", b""))
    for reader, command in (("prompt", ["generate", "--checkpoint", "../run", "--prompt-file", "file"]),
                            ("score", ["generate", "--checkpoint", "../run", "--score", "file"]),
                            ("tokenizer", ["prepare", "--tokenizer", "word", "--vocabulary", "file", "--train", "../text.txt", "--output",
                                           "made"])):
        yield Case(reader, "1 GiB of one letter, compressed", command, DATA, ["256.0 MiB"], put("file", gzip_of_one_letter()))
    yield Case("score", "2 GiB of holes", ["generate", "--checkpoint", "../run", "--score", "file"], (DATA, FILE), ["file"], lambda p: p.sparse("file", 2**31))


def cases():
    for reader in (of_no_kind, texts, token_files, tokenizers, configs, manifests, rows, checkpoints, imports, runs, prompts):
        yield from reader()
