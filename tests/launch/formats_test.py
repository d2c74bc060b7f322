"""Files of other programs, made by those programs: what `segue prepare` makes of each, or says of it.

The table of docs/formats.md is what this test finds, so that it cannot go stale. `formats_test.py SEGUE --write` writes it.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys

from formats.make_files import DOCUMENTS, IDS, ROWS, TEXTS, WIDE
from program import Program, check

DATA, FILE = 4, 6
HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs" / "formats.md"
BEGIN, END = "<!-- Made by tests/launch/formats_test.py: -->", "<!-- The table ends. -->"


def joined(documents, separator=None):
    """The tokens of all documents, and what stands between two of them."""
    tokens = []
    for document in documents:
        tokens += ([] if separator is None or document is documents[0] else [separator]) + list(document)
    return tokens


class Row:
    """A file in tests/launch/formats, what wrote it, and the tokens or the text in it; none: it is refused."""

    def __init__(self, format, writer, file, content=None, options=(), code=DATA):
        self.format, self.writer, self.file, self.content, self.options, self.code = format, writer, file, content, options, code


LLM_C, NANOGPT, MEGATRON = "llm.c f1e2ace", "nanoGPT 3adf61e", "megatron-core 0.16.1"
NUMPY, ARROW, DATASETS = "NumPy 2.4.6", "pyarrow 26.0.1", "datasets 5.2.0"
ROWS_OF_TABLE = (
    Row("shard of llm.c, GPT-2", LLM_C, "llmc/gpt2.bin", IDS),
    Row("shard of llm.c, Llama 3", LLM_C, "llmc/llama3.bin", joined(WIDE)),
    Row("evaluation file of llm.c", LLM_C, "llmc/eval.bin"),
    Row("nanoGPT, characters (`meta.pkl` beside)", NANOGPT, "nanogpt/train.bin", "nanogpt"),
    Row("nanoGPT, the list of characters", NANOGPT, "nanogpt/meta.pkl"),
    Row("raw uint16, as nanoGPT writes BPE tokens", NUMPY, "raw/uint16.bin"),
    Row("the same, named", NUMPY, "raw/uint16.bin", IDS, ("--format", "uint16")),
    Row("the same, misnamed", NUMPY, "raw/uint16.bin", None, ("--format", "uint32")),
    Row("raw uint32", NUMPY, "raw/uint32.bin"),
    Row("the same, named", NUMPY, "raw/uint32.bin", IDS, ("--format", "uint32")),
    Row("raw int64", NUMPY, "raw/int64.bin"),
    Row("Megatron-LM, uint16", MEGATRON, "megatron/uint16.bin", IDS),
    Row("the same, documents apart", MEGATRON, "megatron/uint16.bin", joined(DOCUMENTS, 0), ("--separator", "0")),
    Row("Megatron-LM, int32", MEGATRON, "megatron/int32.bin", joined(WIDE)),
    Row("Megatron-LM, the index", MEGATRON, "megatron/uint16.idx"),
    Row("`.npy`, uint16", NUMPY, "numpy/uint16.npy", IDS),
    Row("`.npy`, int64", NUMPY, "numpy/int64.npy", IDS),
    Row("`.npy`, version 2", NUMPY, "numpy/version2.npy", IDS),
    Row("`.npy`, version 3", NUMPY, "numpy/version3.npy", IDS),
    Row("`.npy`, rows", NUMPY, "numpy/rows.npy", joined(ROWS)),
    Row("the same, rows apart", NUMPY, "numpy/rows.npy", joined(ROWS, 99), ("--separator", "99")),
    Row("`.npy`, padded with -100", NUMPY, "numpy/padded.npy"),
    Row("`.npy`, big-endian", NUMPY, "numpy/big_endian.npy"),
    Row("`.npy`, Fortran order", NUMPY, "numpy/fortran.npy"),
    Row("`.npy`, float32", NUMPY, "numpy/float32.npy"),
    Row("`.npy`, objects", NUMPY, "numpy/objects.npy"),
    Row("`.npz`, one array", NUMPY, "numpy/one.npz", IDS),
    Row("`.npz`, two arrays", NUMPY, "numpy/two.npz"),
    Row("the same, one of them", NUMPY, "numpy/two.npz", joined(ROWS), ("--field", "input_ids")),
    Row("JSON lines of text", DATASETS, "huggingface/text.jsonl", "".join(TEXTS), ("--field", "text")),
    Row("the same, no field named", DATASETS, "huggingface/text.jsonl"),
    Row("JSON lines of tokens", DATASETS, "huggingface/ids.jsonl", joined(DOCUMENTS), ("--field", "input_ids")),
    Row("the same, documents apart", DATASETS, "huggingface/ids.jsonl", joined(DOCUMENTS, 0), ("--field", "input_ids", "--separator", "0")),
    Row("list of JSON", "Python 3.11", "others/list.json"),
    Row("Parquet", ARROW, "arrow/text.parquet"),
    Row("Feather", ARROW, "arrow/text.feather"),
    Row("Arrow stream", ARROW, "arrow/text.arrows"),
    Row("dataset of Hugging Face", DATASETS, "huggingface/saved"),
    Row("its data", DATASETS, "huggingface/saved/data-00000-of-00001.arrow"),
    Row("its description", DATASETS, "huggingface/saved/dataset_info.json"),
    Row("its state", DATASETS, "huggingface/saved/state.json"),
    Row("MDS, a dataset", "mosaicml-streaming 0.13.0", "mds/dataset"),
    Row("MDS, a shard", "mosaicml-streaming 0.13.0", "mds/dataset/shard.00000.mds"),
    Row("MDS, the index", "mosaicml-streaming 0.13.0", "mds/dataset/index.json"),
    Row("WebDataset", "webdataset 1.0.2", "webdataset/text.tar"),
    Row("LitData, a chunk", "litdata 0.2.76", "litdata/chunk.bin"),
    Row("TFRecord", "tfrecord 1.14.6", "tfrecord/text.tfrecord"),
    Row("PyTorch tensor", "PyTorch 2.15.0", "tensors/tokens.pt"),
    Row("PyTorch tensor, before 1.6", "PyTorch 2.15.0", "tensors/legacy.pt"),
    Row("safetensors", "safetensors 0.8.0", "tensors/tokens.safetensors"),
    Row("HDF5", "h5py 3.16.0", "tensors/tokens.h5"),
    Row("pickle", "Python 3.11", "tensors/tokens.pkl"),
    Row("zip", "Python 3.11", "others/text.zip"),
    Row("SQLite", "SQLite 3.40", "others/text.sqlite"),
    Row("PDF", "fpdf2 2.8.9", "others/text.pdf"),
    Row("PNG", "Pillow 13.0.0", "others/image.png"),
    Row("UTF-16", "Python 3.11", "others/utf16.txt"),
)


def characters_of_nanogpt():
    """As its script numbers them: in the order of their codes."""
    text = "".join(TEXTS) * 3
    numbers = {character: i for i, character in enumerate(sorted(set(text)))}
    return [numbers[character] for character in text[:int(len(text) * 0.9)]]


def tokens_of(program):
    """All tokens of the split train, read by HDF5's own tool."""
    with open(program.path("made", "manifest.json")) as file:
        described = json.load(file)
    code = {"uint8": "B", "uint16": "H", "uint32": "I"}[described["token_type"]]
    raw = program.path("tokens.raw")
    subprocess.run(["h5dump", "-d", "tokens", "-b", "LE", "-o", raw, program.path("made", "train-00000.h5")], check=True, capture_output=True)
    with open(raw, "rb") as file:
        return [token for (token,) in struct.iter_unpack("<" + code, file.read())]


def outcome(program, row):
    """What the table says of it."""
    command = [program.binary, "prepare", *row.options, "--train", row.file, "--output", program.path("made"), "--force"]
    done = subprocess.run(command, cwd=HERE / "formats", capture_output=True, text=True, env=program.environment, timeout=60)
    what = f"{row.file} {' '.join(row.options)}"
    lines = [line for line in done.stderr.splitlines() if line.startswith("segue: ")]
    if row.content is None:
        check(done.returncode == row.code and len(lines) == 1,
              f"{what}: exit {done.returncode}, expected {row.code}\n{done.stdout}{done.stderr}")
        return lines[0].removeprefix("segue: ")
    check(done.returncode == 0, f"{what}: exit {done.returncode}\n{done.stderr}")
    content = characters_of_nanogpt() if row.content == "nanogpt" else list(row.content.encode() if isinstance(row.content, str) else row.content)
    check(tokens_of(program) == content, f"{what}: other tokens than were written")
    return f"read: {len(content)} {'bytes of text' if isinstance(row.content, str) and row.content != 'nanogpt' else 'tokens'}"


def table_of(program):
    lines = ["| format | made by | file and options | outcome |", "|---|---|---|---|"]
    for row in ROWS_OF_TABLE:
        said = outcome(program, row)
        found = said if said.startswith("read: ") else "refused: `` " + said.replace("|", "\\|") + " ``"
        lines.append(f"| {row.format} | {row.writer} | {' '.join(('`' + row.file + '`', *('`' + o + '`' for o in (' '.join(row.options),) if o)))} | {found} |")
    return "\n".join(lines)


def main():
    program = Program()
    made = table_of(program)
    before, rest = DOCUMENT.read_text().split(BEGIN)
    kept, after = rest.split(END)
    if "--write" in sys.argv:
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}")
    else:
        check(kept.strip() == made, f"{os.path.relpath(DOCUMENT)}: another table than is so; formats_test.py SEGUE --write writes it:\n{made}")
    files = {str(path.relative_to(HERE / "formats")) for path in (HERE / "formats").rglob("*") if path.is_file()}
    named = {row.file for row in ROWS_OF_TABLE}
    left = [file for file in files if file not in named and not file.endswith((".py", ".pyc", ".idx", "val.bin"))]
    check(not left, f"files that no row names: {left}")


main()
