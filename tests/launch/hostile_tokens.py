"""Hostile token files of other programs, as `hostile_files.py` has them of all other readers."""

import io
import os
import struct
import zipfile

from hostile_case import DATA, ESCAPE, Case, put
from hostile_imports import npy


def llmc(count, tokens=b"\1\0\2\0", magic=20240520, version=1):
    return struct.pack("<256i", magic, version, count, *[0] * 253) + tokens


def index(lengths, documents, pointers=None, code=8, sequences=None, entries=None):
    begins = [2 * sum(lengths[:i]) for i in range(len(lengths))] if pointers is None else pointers
    return (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths) if sequences is None else sequences,
                                         len(documents) if entries is None else entries) +
            struct.pack(f"<{len(lengths)}i", *lengths) + struct.pack(f"<{len(begins)}q", *begins) + struct.pack(f"<{len(documents)}q", *documents))


def npz(*members, kind=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as file:
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


def token_files():
    def prepare(*more, name="file"):
        return ["prepare", *more, "--train", name, "--output", "made"]

    for name, content, words in (
            ("2^31 - 1 tokens of 2", llmc(2**31 - 1), ["2147483647"]), ("-1 tokens", llmc(-1), ["-1"]),
            ("another version", llmc(2, version=7), ["version"]), ("a header of four bytes", llmc(2)[:4], ["1024"]),
            ("no tokens", llmc(0, b""), ["no tokens"]), ("half a token", llmc(1, b"\1"), ["found 1 bytes"])):
        yield Case("llm.c", name, prepare(), DATA, ["file", *words], put("file", content))
    yield Case("llm.c", "more than is in 2 GiB of holes", prepare(), DATA, ["file", "2147483647"],
               lambda place: place.sparse("file", 2**31, llmc(2**31 - 1)))

    def pair(idx, tokens=struct.pack("<6H", *range(6))):
        return lambda place: (place.write("file.bin", tokens), place.write("file.idx", idx)) and None

    def sparse_index(header, length):
        return lambda place: (place.write("file.bin", bytes(12)), place.sparse("file.idx", length, header)) and None

    holes = (2**40 - 34) // 12 * 12
    for name, words, make in (
            ("a pointer beyond the tokens", ["sequence 1", "2147483648"], pair(index([2, 4], [0, 2], [0, 2**31]))),
            ("a pointer below 0", ["sequence 1", "-4"], pair(index([2, 4], [0, 2], [0, -4]))),
            ("pointers that decrease", ["sequence 0", "found 8"], pair(index([2, 4], [0, 2], [8, 0]))),
            ("sequences that overlap", ["sequence 1", "found 2"], pair(index([2, 4], [0, 2], [0, 2]))),
            ("a sequence beyond the tokens", ["sequence 1"], pair(index([2, 2**31 - 1], [0, 2]))),
            ("a length below 0", ["sequence 0"], pair(index([-2, 8], [0, 2]))),
            ("documents that decrease", ["document 2"], pair(index([2, 4], [0, 2, 1, 2]))),
            ("a document beyond the sequences", ["document 1"], pair(index([2, 4], [0, 2**62]))),
            ("2^64 - 1 sequences", ["18446744073709551615"], pair(index([2, 4], [0, 2], sequences=2**64 - 1))),
            ("2^61 entries", [str(2**61)], pair(index([2, 4], [0, 2], entries=2**61))),
            ("counts whose bytes overflow to the file's", ["sequences"],
             pair(index([2, 4], [0, 2], sequences=2**63 + 2, entries=2))),
            ("tokens of float32", ["floating point"], pair(index([2, 4], [0, 2], code=7))),
            ("2^40 bytes of empty sequences", ["at most 8"], sparse_index(index([], [], sequences=holes // 12, entries=0), 34 + holes)),
            ("2^40 bytes of empty documents", ["at most 8"], sparse_index(index([], [], sequences=0, entries=2**37), 34 + 2**40)),
            ("no tokens", ["no tokens"], pair(index([], [0]), b""))):
        words = words if name != "no tokens" else ["empty"]
        yield Case("Megatron-LM", name, prepare(name="file.bin"), DATA, ["file.", *words], make)
    yield Case("Megatron-LM", "a pipe for an index", prepare(name="file.bin"), DATA, ["file.bin"],
               lambda place: (place.write("file.bin", struct.pack("<8H", *range(1, 9))), os.mkfifo(place.path("file.idx"))) and None)

    large = 2**63 - 1
    for name, content, words in (
            ("a shape that overflows", npy(f"({large}, {large})", bytes(8), "<i8"), ["overflows"]),
            ("10^15 tokens of one", npy("(1000000000000000,)", bytes(8), "<i8"), ["1000000000000000"]),
            ("64 extents", npy("(" + "1, " * 64 + ")", bytes(8), "<i8"), ["shape"]),
            ("100,000 extents", npy("(" + "1, " * 20000 + ")", bytes(8), "<i8"), ["extents"]),
            ("an extent of 2^64", npy("(18446744073709551616,)", bytes(8), "<i8"), ["extent"]),
            ("an extent below 0", npy("(-1,)", bytes(8), "<i8"), ["extent"]),
            ("a header longer than the file", npy("(1,)", bytes(8), "<i8", 65535), ["header"]),
            ("a header of 4 GiB", b"\x93NUMPY\2\0\xff\xff\xff\xff{'descr'", ["header"]),
            ("version 9", b"\x93NUMPY\x09\0" + bytes(100), ["version"]), ("nothing behind its name", b"\x93NUMPY", ["npy"]),
            ("open brackets", npy("(" * 60000, b"", "<i8"), ["extent"]), ("objects", npy("(1,)", bytes(8), "|O"), ["Python objects"]),
            ("controls in its type", npy("(1,)", bytes(8), ESCAPE.encode().decode("latin-1")[:8]), ["elements of type"]),
            ("ids below 0", npy("(2,)", struct.pack("<2q", 5, -100), "<i8"), ["-100"]),
            ("ids above 2^31", npy("(2,)", struct.pack("<2Q", 5, 2**64 - 1), "<u8"), [str(2**64 - 1)])):
        yield Case("NumPy", name, prepare(), DATA, ["file", *words], put("file", content))

    zeros = npy("(60000000,)", bytes(120000000), "<u2")
    tokens = npy("(4,)", struct.pack("<4H", 1, 2, 3, 4), "<u2")
    stored = bytearray(npz(("a.npy", tokens), kind=zipfile.ZIP_STORED))
    stored[stored.index(b"\1\0\2\0")] ^= 4
    for name, content, words in (
            ("120 MB of zeros", npz(("a.npy", zeros)), ["more than tokens do"]), ("a wrong checksum", bytes(stored), ["CRC"]),
            ("30,000 arrays", npz(*((f"a{i}.npy", tokens) for i in range(30000)), kind=zipfile.ZIP_STORED), ["30000"]),
            ("two arrays", npz(("a.npy", tokens), ("b.npy", tokens)), ["a, b", "--field"]),
            ("controls in a name", npz(("a.npy", tokens), (ESCAPE + ".npy", tokens)), []),
            ("a file that is no array", npz(("a.npy", tokens), ("a.txt", b"x")), ["a.txt"]),
            ("an array that is none", npz(("a.npy", b"something")), ["array a"]),
            ("a shape beyond its bytes", npz(("a.npy", npy("(5,)", bytes(8), "<u2"))), ["5 elements"]),
            ("its end cut off", npz(("a.npy", tokens))[:-30], ["npz archive"])):
        yield Case("NumPy archive", name, prepare(), DATA, ["file", *words], put("file", content))

    for name, content, words in (
            ("a token of 2^64", b'{"ids": [1, 18446744073709551616]}\n', ["ids[1]"]), ("a token of -100", b'{"ids": [-100]}\n', ["-100"]),
            ("lists in lists", b'{"ids": ' + b"[" * 100000 + b"\n", ["line 1"]), ("three million tokens on a line", b'{"ids": [' + b"1," * 3000000 + b"1]}\n", ["line 1"]),
            ("controls", b'{"ids": ["\\u001b[2J"]}\n', ["ids[0]"])):
        yield Case("JSON ids", name, prepare("--field", "ids"), DATA, ["file", *words], put("file", content))
