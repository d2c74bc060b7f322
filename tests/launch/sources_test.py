"""What `segue prepare` makes of sources as people have them: compressed, through a pipe, or in formats that are no text and
are refused by name.
"""

import base64
import bz2
import fcntl
import gzip
import io
import json
import lzma
import os
import pickle
import pty
import random
import re
import shutil
import struct
import subprocess
import tarfile
import termios
import zipfile
import zlib

from prepared_sources import DATA, IO, TEXT, USAGE, lines, manifest, prepare, prepared, run_each, shards, warnings, zstd
from program import check, refused

FORMATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "formats")
COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def test_compressed(program):
    """Text and tokens are those of the plain file, however a file is compressed and put together."""
    program.write("plain.txt", TEXT)
    plain = program.path("plain.txt")
    for options in ((), ("--tokenizer", "word", "--eos", "line")):
        expected = prepared(program, *options, "--input", plain)
        for ending, compress in COMPRESSIONS.items():
            program.write("text." + ending, compress(TEXT))
            found = prepared(program, *options, "--input", "text." + ending)
            check(found == expected, f"{ending} {options}: other tokens than of the plain file")
    source = manifest(program)["sources"][0]
    check(source["bytes"] == len(zstd(TEXT)), "a source's size is not that of its file")
    expected = prepared(program, "--train", plain)
    for ending, compress in COMPRESSIONS.items():
        cut = random.Random(ending).randrange(len(TEXT))
        program.write("text", compress(TEXT[:cut]) + compress(TEXT[cut:]))
        check(prepared(program, "--train", "text") == expected, f"{ending}: two members are not read as one")
        if ending in ("gz", "xz"):
            program.write("text", compress(TEXT[:cut]) + bytes(8) + compress(TEXT[cut:]) + bytes(1 << 19))
            check(prepared(program, "--train", "text") == expected, f"{ending}: padding is not left out")
    tokens = struct.pack("<1000H", *range(1000))
    program.write("tokens.bin", tokens)
    program.write("tokens.bin.gz", gzip.compress(tokens))
    expected = prepared(program, "--format", "uint16", "--train", "tokens.bin")
    check(prepared(program, "--format", "uint16", "--train", "tokens.bin.gz") == expected, "compressed tokens differ")


def test_damaged(program):
    for ending, compress in COMPRESSIONS.items():
        data = bytearray(compress(base64.b64encode(random.Random(1).randbytes(200000))))
        program.write("cut", bytes(data[:len(data) // 2]))
        refused(program, DATA, "prepare", "--train", "cut", "--output", "none", says=("cut: the compressed data is cut off",),
                leaves_nothing_at="none")
        data[len(data) // 2] ^= 16
        program.write("damaged", bytes(data))
        refused(program, DATA, "prepare", "--train", "damaged", "--output", "none",
                says=("damaged: the compressed data is damaged before byte",), leaves_nothing_at="none")
    stored = bytearray(gzip.compress(TEXT, 0))  # only its checksum can tell
    stored[5000] ^= 1
    program.write("stored.gz", bytes(stored))
    refused(program, DATA, "prepare", "--train", "stored.gz", "--output", "none", says=("stored.gz: the compressed data is",))


def wide_zstd():
    """A frame that asks for a window of 256 MiB, and has one block as it is."""
    return b"\x28\xb5\x2f\xfd\0\x90" + struct.pack("<I", len(TEXT[:1000]) << 3 | 1)[:3] + TEXT[:1000]


def wide_xz():
    """A stream whose block asks for a dictionary of 1 GiB."""
    data = bytearray(lzma.compress(TEXT))
    begin, length = 12, (data[12] + 1) * 4
    data[data.index(b"\x21\x01", begin) + 2] = 36
    data[begin + length - 4:begin + length] = struct.pack("<I", zlib.crc32(data[begin:begin + length - 4]))
    return bytes(data)


def test_wide_windows(program):
    for content, command in ((wide_zstd(), ["zstd", "-dc", "--long=31"]), (wide_xz(), ["xz", "-dc"])):
        program.write("wide", content)
        says = f"{' '.join(command)} wide | segue prepare --input - --output DIR"
        refused(program, DATA, "prepare", "--train", "wide", "--output", "none", says=("wide: ", "a larger one", says),
                leaves_nothing_at="none")
        with open(program.path("wide"), "rb") as file:
            text = subprocess.run(command, stdin=file, capture_output=True, check=True).stdout
        check(TEXT.startswith(text) and text, f"{command[0]}: the command that is named does not help")


def test_standard_input(program):
    program.write("plain.txt", TEXT)
    for options in ((), ("--tokenizer", "word"), ("--separator", "0")):
        expected = prepared(program, *options, "--input", "plain.txt")
        for data in (TEXT, gzip.compress(TEXT)):
            check(prepared(program, *options, "--input", "-", stdin=data) == expected, f"{options}: another text from a pipe")
    check([s["file"] for s in manifest(program)["sources"]] == ["-"], "standard input is not named")
    check(sorted(os.listdir(program.path("data"))) == ["manifest.json", "test-00000.h5", "train-00000.h5", "valid-00000.h5"],
          "a copy of standard input was left behind")
    refused(program, USAGE, "prepare", "--train", "-", "--valid", "-", "--output", "none", says=("once",))
    code, errors = prepare(program, "--train", "-", stdin=b"")
    check(code == DATA and "-: expected text or tokens from standard input, found nothing" in errors, errors)


def tar_of(data):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("text.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zip_of(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("text.txt", data)
    return buffer.getvalue()


def raw_zip_of(name, content=b""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def tfrecord_of(data):
    """A record, and the checksum of its length as TensorFlow masks it (CRC-32C, bit by bit)."""
    length, crc = struct.pack("<Q", len(data)), 0xffffffff
    for byte in length:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return length + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff) + data


def test_other_formats(program):
    text, draw = TEXT[:5000].decode(), random.Random(4)
    offsets = [4 * 22 + 300 + 100 * i for i in range(21)]
    mds = struct.pack("<I21I", 20, *offsets) + b'{"column_encodings": ["str"], "format": "mds"}'.ljust(300) + TEXT[:2000]
    chunk = struct.pack("<I21I", 20, *(o - 300 for o in offsets)) + draw.randbytes(2000)
    cases = {
        "a.parquet": (b"PAR1" + bytes(500), "a Parquet file: python3 -c"), "a.arrow": (b"ARROW1\0\0" + bytes(100), "an Arrow file"),
        "s.arrow": (b"\xff\xff\xff\xff\xa8\0\0\0\x10\0\0\0" + bytes(100), "an Arrow stream"),
        "le.txt": (b"\xff\xfe" + text.encode("utf-16-le"), "UTF-16"), "be.txt": (b"\xfe\xff" + text.encode("utf-16-be"), "UTF-16"),
        "le": (text.encode("utf-16-le"), "UTF-16"), "be": (text.encode("utf-16-be"), "UTF-16"),
        "32.txt": (text.encode("utf-32"), "UTF-32"), "32be": (text.encode("utf-32-be"), "UTF-32"),
        "a.h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
        "a.zip": (zip_of(TEXT), "a zip archive"), "a.tar": (tar_of(TEXT), "a tar archive"),
        "a.tar.gz": (gzip.compress(tar_of(TEXT)), "a tar archive"), "twice.gz": (gzip.compress(gzip.compress(TEXT)), "twice"),
        "a.pdf": (b"%PDF-1.7\n" + TEXT, "a PDF file"), "a.docx": (raw_zip_of("[Content_Types].xml"), "Microsoft Office"),
        "a.pt": (raw_zip_of("archive/data.pkl"), "a PyTorch file"), "a.epub": (raw_zip_of("mimetype", b"application/epub+zip"), "an EPUB book"),
        "a.lzma": (lzma.compress(TEXT, lzma.FORMAT_ALONE), "a legacy .lzma file"),
        "a.pkl": (pickle.dumps(list(range(1000))), "a Python pickle"), "a.safetensors": (struct.pack("<Q", 8) + b'{"a":{}}' + bytes(8), "a safetensors file"),
        "a.tfrecord": (tfrecord_of(TEXT[:500]), "a TFRecord file"), "a.mds": (mds, "MosaicML"), "chunk-0-0.bin": (chunk, "LitData"),
        "program": (b"\x7fELF\2\1\1" + bytes(100), "a program"), "a.png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "an image"),
        "noise": (draw.randbytes(5000), "neither"), "noise.gz": (gzip.compress(draw.randbytes(5000)), "neither"),
        "a.jsonl": (lines({"text": "a b", "url": "c", "ids": [1]}), 'JSON lines with the fields "ids", "text", "url": --field'),
        "a.jsonl.gz": (gzip.compress(lines({"text": "a" * 100000})), "JSON lines"),
        "a.json": (json.dumps([{"text": "a b"}]).encode(), "jq -c '.[]'"),
        "a.annex": (b"/annex/objects/SHA256E-s5--0.txt\n", "git annex get"),
    }
    for name, (content, says) in cases.items():
        program.write(name, content)
        refused(program, DATA, "prepare", "--train", name, "--output", "none", says=(name + ": expected text or tokens", says),
                leaves_nothing_at="none")
        refused(program, DATA, "prepare", "--input", "plain.txt", name, "--output", "none", says=(name, says))
        check(prepared(program, "--as-is", "--train", name)[0][1] == len(content), f"{name}: --as-is is not as it is")
    for name, (content, says) in cases.items():
        if says != "neither":
            refused(program, DATA, "prepare", "--format", "text", "--train", name, "--output", "none", says=(name + ": expected text, ", says))
    check(prepared(program, "--format", "text", "--train", "noise")[0][1] == 5000, "noise is taken as text where one says so")
    program.write("prose.txt", lines({"text": "This object is an example."}) + b"\n" + TEXT)
    prepared(program, "--train", "prose.txt")
    header = [20240520, 1, 100] + [0] * 253
    program.write("train.bin", struct.pack("<256i", *header) + struct.pack("<100H", *range(100)))
    program.write("a.npy", b"\x93NUMPY\x01\0" + bytes(100))
    for name, says in (("train.bin", "a token file of llm.c: leave out --format"), ("a.npy", "a NumPy array: leave out --format"),
                       *((name, cases[name][1]) for name in ("a.parquet", "a.safetensors", "a.tfrecord", "a.mds", "s.arrow", "a.pt"))):
        for format in ("uint16", "uint32"):
            refused(program, DATA, "prepare", "--format", format, "--train", name, "--output", "none", says=(says,))
    refused(program, DATA, "prepare", "--format", "text", "--train", "train.bin", "--output", "none", says=("a token file of llm.c",))
    check(prepared(program, "--train", "train.bin")[0][1] == 100, "a shard of llm.c")
    program.write("train.bin.zst", zstd(struct.pack("<256i", *header) + struct.pack("<100H", *range(100))))
    check(prepared(program, "--train", "train.bin.zst") == prepared(program, "--train", "train.bin"), "a compressed shard of llm.c")
    program.write("tokens.bin", struct.pack("<100H", 0xfeff, *range(1, 100)))  # no text, so no mark of UTF-16
    prepared(program, "--format", "uint16", "--train", "tokens.bin")
    for name, says in (("dataset_info.json", "a dataset of Hugging Face: python3"), ("dataset_dict.json", "for each split"),
                       ("index.json", "MosaicML")):
        os.makedirs(program.path("directory"), exist_ok=True)
        program.write(os.path.join("directory", name), b"{}")
        refused(program, DATA, "prepare", "--train", "directory", "--output", "none", says=("directory: expected a regular file, found ", says))
        os.remove(program.path("directory", name))
    program.write("plain.txt", "words of a text\n" * 99)
    program.run("prepare", "plain.txt", "-o", "made")
    refused(program, DATA, "prepare", "--train", "made", "--output", "none", says=("made: expected a regular file, found a dataset", "data.path"))


def test_other_widths(program):
    """Tokens of another width than --format says are refused by the one that fits, compressed too; no less was read as it is."""
    draw = random.Random(3)
    ids = [int(50000 * draw.random() ** 3) for _ in range(4000)]
    files = {"uint16": struct.pack("<4000H", *ids), "uint32": struct.pack("<4000I", *ids), "int64": struct.pack("<4000q", *ids)}
    for given, name, says in (("uint16", "uint32", "give --format uint32"), ("uint16", "int64", "tokens of int64"),
                              ("uint32", "uint16", "give --format uint16"), ("uint32", "int64", "tokens of int64")):
        for content in (files[name], gzip.compress(files[name])):
            program.write("ids.bin", content)
            refused(program, DATA, "prepare", "--format", given, "--train", "ids.bin", "--output", "none",
                    says=(f"ids.bin: expected tokens of {given}, found what looks like", says), leaves_nothing_at="none")
    for name in ("uint16", "uint32"):
        program.write("ids.bin", files[name])
        check(prepared(program, "--format", name, "--train", "ids.bin")[0][1] == len(ids), f"{name} ids as {name}")
    program.write("ids.bin", struct.pack("<5I", *ids[:5]))
    refused(program, DATA, "prepare", "--format", "uint16", "--train", "ids.bin", "--output", "none", says=("give --format uint32",))
    for content, says in ((files["uint16"], "give --format uint16"), (files["uint32"], "give --format uint32"), (files["int64"], "raw tokens of int64")):
        program.write("ids.bin", content)
        refused(program, DATA, "prepare", "--train", "ids.bin", "--output", "none",
                says=("ids.bin: expected text or tokens, found what looks like raw tokens of", says), leaves_nothing_at="none")
    program.write("ids.bin", files["uint32"])
    check(prepared(program, "--format", "uint16", "--as-is", "--train", "ids.bin")[0][1] == 2 * len(ids), "as they are")


def test_pointers_of_git_lfs(program):
    """In place of text, tokens, a vocabulary, a config and a checkpoint; of a prompt and a scored text in generate_test."""
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1234567\n"
    says = ("pointer: expected the file, found Git LFS's pointer to it; git lfs pull fetches it",)
    program.write("pointer", pointer)
    program.write("plain.txt", TEXT)
    for arguments in (("--train", "pointer"), ("--as-is", "--train", "pointer"), ("--format", "uint16", "--train", "pointer"),
                      ("--tokenizer", "word", "--vocabulary", "pointer", "--train", "plain.txt"),
                      ("--tokenizer", "sentencepiece", "--model", "pointer", "--train", "plain.txt")):
        refused(program, IO, "prepare", *arguments, "--output", "none", says=says, leaves_nothing_at="none")
    for content in (pointer.encode(), gzip.compress(pointer.encode())):
        code, errors = prepare(program, "--train", "-", stdin=content)
        check(code == IO and "-: expected the file, found Git LFS's pointer to it" in errors, errors)
    program.write("pointer.gz", gzip.compress(pointer.encode()))
    refused(program, IO, "prepare", "--train", "pointer.gz", "--output", "none", says=("pointer.gz: expected the file, found Git LFS's",))
    refused(program, IO, "train", "pointer", says=says)
    refused(program, IO, "import", "--model", "pointer", "--args", "pointer", "--output", "none", says=says)


def test_signs(program):
    program.write("clean.txt", TEXT)
    check(warnings(program, "--train", "clean.txt") == "", "a clean text is warned of")
    program.write("marked.txt", b"\xef\xbb\xbf" + TEXT)
    check("1 byte order mark in 1 source, the first marked.txt: left out" in warnings(program, "--train", "marked.txt"),
          "a byte order mark is not told")
    marked = shards(program)
    check(prepared(program, "--train", "clean.txt") == marked, "a byte order mark was not left out")
    program.write("bad.txt", b"\xef\xbb\xbfab\xff\n" + TEXT)
    refused(program, DATA, "prepare", "--tokenizer", "word", "--train", "bad.txt", "--output", "none",
            says=("bad.txt: byte 5: expected UTF-8",))
    returns = TEXT.replace(b"\n", b"\r\n")
    program.write("returns.txt", returns)
    found = warnings(program, "--train", "returns.txt", "--valid", "clean.txt")
    check("4,000 lines end with CR LF in 1 source, the first returns.txt: kept" in found, found)
    found = warnings(program, "--tokenizer", "word", "--train", "returns.txt")
    check("read like LF" in found, found)
    program.write("zeros.txt", b"a\0b" * 1000 + TEXT)
    found = warnings(program, "--train", "zeros.txt")
    check("1,000 zero bytes in 1 source, the first zeros.txt: kept" in found and len(found.splitlines()) == 1, found)


def test_other_encodings(program):
    """Bytes are kept whatever they stand for, but a text that is not UTF-8 is told of, with the place and a cure."""
    latin = ("caf\u00e9 au lait\n" * 3000).encode("latin-1")
    program.write("latin.txt", latin)
    says = "text that is not UTF-8 in 1 source, the first latin.txt: from byte 3 on; its bytes are kept; iconv -f WINDOWS-1252 -t UTF-8 latin.txt"
    found = warnings(program, "--train", "latin.txt")
    check(says in found and len(found.splitlines()) == 1, found)
    check(warnings(program, "--as-is", "--train", "latin.txt") == "", "warned of what is taken as it is")
    for content, place in ((b"a" * 3000001 + b"\xe9 b\n", "3,000,001"), ("\u20ac".encode() * 1000001 + b"\xc0\x80\n", "3,000,003"),
                           (b"\xef\xbb\xbfab\xff\n" * 9, "5"), (b"ab\xed\xa0\x80\n" * 9, "2")):
        program.write("latin.txt", content)
        found = warnings(program, "--train", "latin.txt")
        check(f"the first latin.txt: from byte {place} on" in found, f"{place}: {found}")
    program.write("whole.txt", "\u20ac \u00e9 \U0001f600 \ud7ff \ue000 \U0010ffff\n" * 100001)
    check(warnings(program, "--train", "whole.txt") == "", "UTF-8 is warned of")
    program.write("config.json", '{\n  "model": {"n_layer": 2}\n}\n' * 9)
    found = warnings(program, "--train", "config.json")
    check("braces and keys of JSON in 1 source, the first config.json" in found, found)


def test_names_of_no_file(program):
    program.write("one.txt", TEXT)
    program.write("two.txt", TEXT)
    for name, says in (("one.txt,two.txt", "there is no such file; separate paths with spaces: one.txt two.txt"),
                       ("https://somewhere.org/one.txt", "there is no such file; download it first, and name the file"),
                       ("many*.txt", "there is no such file; the pattern matches nothing")):
        refused(program, DATA, "prepare", "--input", name, "--output", "none", says=(name + ": " + says,), leaves_nothing_at="none")
    os.makedirs(program.path("gpt"), exist_ok=True)
    program.write("gpt/config.json", '{"model_type": "gpt2"}')
    program.write("gpt/tokenizer.json", "{}")
    for name in ("gpt", "gpt/config.json"):
        refused(program, DATA, "prepare", "--tokenizer", name, "--train", "one.txt", "--output", "none", leaves_nothing_at="none",
                says=(name + ": expected a tokenizer.json", "the config of a model of Hugging Face's", "did you mean gpt/tokenizer.json?"))


def test_word_lists(program):
    """A list is read like any text: marks, ends of lines, compression and encodings of all systems."""
    program.write("words.txt", "b a c b <unk> d\n")
    words = "a\nb\nc\n<unk>\n"

    def tokens(name, content, *more, stdin=None):
        if name != "-":
            program.write(name, content)
        return prepared(program, "--tokenizer", "word", "--vocabulary", name, "--train", "words.txt", *more, stdin=stdin)

    expected = tokens("list", words)
    for name, content in (("marked", b"\xef\xbb\xbf" + words.encode()), ("crlf", words.replace("\n", "\r\n")),
                          ("cr", words.replace("\n", "\r")), ("list.gz", gzip.compress(words.encode()))):
        check(tokens(name, content) == expected, f"{name}: other words")
    check(tokens("-", None, stdin=words.encode()) == expected, "a list from a pipe: other words")
    check("byte order mark in 1 source, the first marked" in warnings(
        program, "--tokenizer", "word", "--vocabulary", "marked", "--train", "words.txt"), "a byte order mark is not told of")
    for name, content, says in (("wide", (words * 2).encode("utf-16"), "UTF-16"), ("latin", "a\n\xe9\n".encode("latin-1"), "line 2: expected UTF-8"),
                                ("twice", gzip.compress(gzip.compress(b"a")), "twice")):
        program.write(name, content)
        refused(program, DATA, "prepare", "--tokenizer", "word", "--vocabulary", name, "--train", "words.txt", "--output", "none",
                says=(name + ": ", says), leaves_nothing_at="none")
    refused(program, USAGE, "prepare", "--tokenizer", "word", "--vocabulary", "-", "--train", "-", "--output", "none", says=("once",))
    refused(program, DATA, "prepare", "--tokenizer", "word", "--vocabulary", "list", "--unk", "<other>", "--train", "words.txt",
            "--output", "none", says=('list: expected the unknown word "<other>"',))


def run_recipe(program, error, name):
    """Types the command that an error gives into a shell; the dataset that it makes."""
    recipe = re.search(r": ((?:gzip -dc|tar|unzip) .* --output DIR)", error).group(1)
    shutil.rmtree(program.path("DIR"), ignore_errors=True)
    done = subprocess.run(["bash", "-c", f'segue() {{ "{program.binary}" "$@"; }}; {recipe}'], cwd=program.directory,
                          env=program.environment, capture_output=True, text=True)
    check(done.returncode == 0, f"{name}: {recipe}\n{done.stderr}")
    with open(program.path("DIR", "manifest.json")) as file:
        return [split["tokens"] for split in json.load(file)["splits"]]


def test_recipes(program):
    """The commands that errors give do what they say, of names with spaces and of compressed files too."""
    program.write("plain.txt", TEXT)
    expected = [split[1] for split in prepared(program, "--input", "plain.txt")]
    archives = {"my text.tar": tar_of(TEXT), "text.tar.gz": gzip.compress(tar_of(TEXT))}
    if shutil.which("unzip"):
        archives.update({"text.zip": zip_of(TEXT), "text.zip.gz": gzip.compress(zip_of(TEXT))})
    for name, content in archives.items():
        program.write(name, content)
        code, errors = prepare(program, "--input", name)
        check(code == DATA and " FILE" not in errors, errors)
        check(run_recipe(program, errors, name) == expected, f"{name}: its command makes another dataset")
    program.write("paper.pdf", b"%PDF-1.7\n")
    program.write("packed.pdf.gz", gzip.compress(b"%PDF-1.7\n"))
    reader = " - | segue prepare --input - --output DIR; --as-is"
    refused(program, DATA, "prepare", "paper.pdf", "--output", "none", says=("a PDF file: pdftotext paper.pdf" + reader,))
    says = "a PDF file: gzip -dc packed.pdf.gz > {0} && pdftotext {0}" + reader
    refused(program, DATA, "prepare", "packed.pdf.gz", "--output", "none", says=(says.format("packed.pdf"),))
    program.write("packed.pdf", "what somebody needs")
    refused(program, DATA, "prepare", "packed.pdf.gz", "--output", "none", says=(says.format("packed.pdf.gz.unpacked"),))


def test_names(program):
    """A directory is answered with a pattern that its files have, and a name in pieces with the name in quotes."""
    for directory, files in (("licenses", ("Apache-2.0", "readme")), ("my corpus", ("a.md", "b.txt", "c.txt")), ("notes", ("a.md", "b.md"))):
        os.makedirs(program.path(directory, "more"))
        for name in files:
            program.write(os.path.join(directory, name), TEXT[:5000])
        code, errors = prepare(program, "--input", directory)
        pattern = re.search(r"name the files in it, as in: (.*)", errors)
        check(code == DATA and pattern, errors)
        found = subprocess.run(["bash", "-c", "printf '%s\\n' " + pattern.group(1)], cwd=program.directory, capture_output=True, text=True).stdout
        named = [name for name in found.splitlines() if os.path.isfile(program.path(name))]
        check(named, f"{directory}: {pattern.group(0)} names no files")
    os.makedirs(program.path("hollow", "more"))
    refused(program, DATA, "prepare", "hollow", "--output", "none", says=("hollow: expected a file, found a directory of other files", "name files of text"))
    program.write("My Book final.txt", TEXT)
    for words in (("My", "Book", "final.txt"), ("plain.txt", "My", "Book", "final.txt")):
        refused(program, DATA, "prepare", "--input", *words, "--output", "none",
                says=("My: there is no such file; did you mean 'My Book final.txt', in quotes?",), leaves_nothing_at="none")
    refused(program, DATA, "prepare", "--input", "My", "Boot", "--output", "none", says=("My: there is no such file",))


def test_terminal(program):
    """In a terminal of 40 columns progress is one line that is rewritten, and what stays are lines of their own."""
    program.write("large.txt", b"some words of a line, and some more of them\n" * 1000000)
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.Popen([program.binary, "prepare", "--tokenizer", "word", "--train", "large.txt", "--output", "data", "--force"],
                               cwd=program.directory, env=program.environment, stdout=subprocess.DEVNULL, stderr=inside)
    os.close(inside)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # it is closed
        pass
    os.close(terminal)
    check(process.wait() == 0, shown)
    rows = [row.split("\r") for row in shown.decode().split("\r\n")]
    in_place = [text.removesuffix("\x1b[K") for row in rows for text in row[:-1] + row[-1:] if text.endswith("\x1b[K")]
    check(in_place and all(len(text) < 40 for text in in_place), f"lines in place: {in_place}")
    check(any(re.fullmatch(r"(prepare|learn the vocabulary): \d+ %, ETA .*", text) for text in in_place), f"lines in place: {in_place}")
    left = [row[-1].removeprefix("\x1b[K") for row in rows if row[-1]]
    check(all(re.match(r"(learn the vocabulary|prepare): 44\.0 MB in |20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ .* data: ", row) for row in left), f"left: {left}")


def test_files_beside_sources(program):
    """All that a dataset was made from is among its sources, with its checksum; the same beside two splits is no warning."""
    for name in ("train", "valid"):
        for end in (".bin", ".idx"):
            shutil.copy(os.path.join(FORMATS, "megatron", "uint16" + end), program.path(name + end))
    with open(program.path("valid.bin"), "r+b") as file:
        file.write(b"\1\0")
    found = warnings(program, "--train", "train.bin", "--valid", "valid.bin")
    check(found == "", f"indexes that are the same: {found}")
    sources = manifest(program)["sources"]
    check([(source["file"], source["splits"]) for source in sources]
          == [("train.bin", ["train"]), ("train.idx", ["train"]), ("valid.bin", ["valid"]), ("valid.idx", ["valid"])], sources)
    check([source.get("is_beside") for source in sources] == [None, True, None, True], f"which are beside others: {sources}")
    check(all(source["bytes"] == os.path.getsize(program.path(source["file"])) for source in sources), sources)
    check(len({source["checksum"] for source in sources}) == 3, f"the checksums: {sources}")
    program.write("raw.bin", struct.pack("<8H", *range(8)))
    program.write("raw.bin.marks", bytes([0, 1] * 4))
    program.write("copy.bin", struct.pack("<8H", *range(8, 16)))
    program.write("copy.bin.marks", bytes([0, 1] * 4))
    found = warnings(program, "--train", "raw.bin", "--valid", "copy.bin", "--format", "uint16", "--marks")
    check(found == "", f"marks that are the same: {found}")
    program.write("table", "".join(f"{base64.b64encode(bytes([97 + i])).decode()} {i}\n" for i in range(16)))
    prepared(program, "--train", "raw.bin", "--valid", "copy.bin", "--format", "uint16", "--token-bytes", "table")
    table = manifest(program)["sources"][-1]
    check((table["file"], table["splits"]) == ("table", ["train", "valid"]), f"the bytes of tokens: {table}")
    places = []
    for files in (("--train", "raw.bin", "--valid", "copy.bin"), ("--train", "copy.bin", "--valid", "raw.bin")):
        for marks in ((), ("--marks",)):
            prepared(program, *files, "--format", "uint16", "--token-bytes", "table", *marks)
            splits = json.loads(program.run("inspect", "data", "--json")[0])["splits"]
            places.append({file: split["text"] for file, split in zip(files[1::2], splits)})
    check(all(place == places[0] for place in places), f"the same text, beside others: {places}")


run_each((test_compressed, test_damaged, test_wide_windows, test_standard_input, test_other_formats, test_other_widths,
          test_pointers_of_git_lfs, test_signs, test_other_encodings, test_names_of_no_file, test_recipes, test_names,
          test_files_beside_sources, test_word_lists, test_terminal))
