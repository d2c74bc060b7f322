"""Makes the files beside this one, each with the program that writes its format. Once: they are kept.

    python3 -m venv VENV
    VENV/bin/pip install numpy==2.4.6 torch==2.15.0 pyarrow==26.0.1 datasets==5.2.0 h5py==3.16.0 webdataset==1.0.2 safetensors==0.8.0 \\
        tfrecord==1.14.6 fpdf2==2.8.9 pillow==13.0.0 requests tqdm boto3 lightning_utilities tifffile obstore brotli zstd paramiko
    VENV/bin/pip install --no-deps megatron-core==0.16.1 mosaicml-streaming==0.13.0 litdata==0.2.76 torchvision python-snappy transformers
    git clone https://github.com/karpathy/llm.c LLM_C          # f1e2ace
    git clone https://github.com/karpathy/nanoGPT NANOGPT      # 3adf61e
    VENV/bin/python tests/launch/formats/make_files.py LLM_C NANOGPT [PART]

With the name of a PART, that alone is made. Every file has these tokens, or this text.
"""

import json
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENTS = [[464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290, 13, 50256], [1212, 318, 257, 1332, 13, 50256],
             [40, 716, 50256]]
IDS = [token for document in DOCUMENTS for token in document]
WIDE = [[128000, 791, 4062, 14198, 39935, 13, 128009], [128000, 2028, 374, 264, 1296, 13, 128009]]
ROWS = [[5, 17, 3, 901], [2, 2, 44, 7], [13, 0, 8, 60]]
TEXTS = ["The quick brown fox jumps over the lazy dog.\n", "This is a test.\n", "I am.\n"]


def path(*names):
    place = os.path.join(HERE, *names)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place


def llmc(repository):
    sys.path.insert(0, os.path.join(repository, "dev", "data"))
    from data_common import write_datafile, write_evalfile
    write_datafile(path("llmc", "gpt2.bin"), IDS, "gpt-2")
    write_datafile(path("llmc", "llama3.bin"), [token for document in WIDE for token in document], "llama-3")
    write_evalfile(path("llmc", "eval.bin"), [{"label": 1, "ctx_tokens": IDS[:8], "ending_tokens": [[1, 2], [3], [4, 5], [6]]}])


def nanogpt(repository):
    """Its script for characters, with a text of its own in place of Shakespeare's."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(os.path.join(repository, "data", "shakespeare_char", "prepare.py"), place)
        with open(os.path.join(place, "input.txt"), "w") as file:
            file.write("".join(TEXTS) * 3)
        subprocess.run([sys.executable, "prepare.py"], cwd=place, check=True)
        for name in ("train.bin", "val.bin", "meta.pkl"):
            shutil.copy(os.path.join(place, name), path("nanogpt", name))
    import numpy
    numpy.array(IDS, dtype=numpy.uint16).tofile(path("raw", "uint16.bin"))  # as its other scripts end
    numpy.array(IDS, dtype=numpy.uint32).tofile(path("raw", "uint32.bin"))
    numpy.array(IDS).tofile(path("raw", "int64.bin"))


def megatron():
    import numpy
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
    for name, dtype, documents in (("uint16", numpy.uint16, DOCUMENTS), ("int32", numpy.int32, WIDE)):
        builder = IndexedDatasetBuilder(path("megatron", name + ".bin"), dtype=dtype)
        for document in documents:
            builder.add_document(document, [len(document) - 2, 2])
        builder.finalize(path("megatron", name + ".idx"))


def numpy_arrays():
    import numpy
    numpy.save(path("numpy", "uint16.npy"), numpy.array(IDS, dtype=numpy.uint16))
    numpy.save(path("numpy", "int64.npy"), numpy.array(IDS))
    numpy.save(path("numpy", "rows.npy"), numpy.array(ROWS, dtype=numpy.int32))
    numpy.save(path("numpy", "padded.npy"), numpy.array([[5, 17, 3], [2, -100, -100]]))
    numpy.save(path("numpy", "big_endian.npy"), numpy.array(IDS, dtype=">u2"))
    numpy.save(path("numpy", "fortran.npy"), numpy.asfortranarray(ROWS))
    numpy.save(path("numpy", "float32.npy"), numpy.array(IDS, dtype=numpy.float32))
    numpy.save(path("numpy", "objects.npy"), numpy.array([numpy.array(document) for document in DOCUMENTS], dtype=object))
    for version in ((2, 0), (3, 0)):
        with open(path("numpy", f"version{version[0]}.npy"), "wb") as file:
            numpy.lib.format.write_array(file, numpy.array(IDS, dtype=numpy.uint32), version)
    numpy.savez(path("numpy", "one.npz"), numpy.array(IDS, dtype=numpy.uint16))
    numpy.savez_compressed(path("numpy", "two.npz"), input_ids=numpy.array(ROWS), labels=numpy.array([[-100, 17], [2, 5]]))


def arrow():
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
    table = pyarrow.table({"text": TEXTS, "url": ["a", "b", "c"]})
    pyarrow.parquet.write_table(table, path("arrow", "text.parquet"))
    pyarrow.feather.write_feather(table, path("arrow", "text.feather"))
    with pyarrow.OSFile(path("arrow", "text.arrows"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def huggingface():
    import datasets
    texts = datasets.Dataset.from_dict({"text": TEXTS})
    texts.save_to_disk(path("huggingface", "saved"))
    texts.to_json(path("huggingface", "text.jsonl"))
    datasets.Dataset.from_dict({"input_ids": DOCUMENTS}).to_json(path("huggingface", "ids.jsonl"))


def shards():
    import numpy
    import streaming
    import webdataset
    shutil.rmtree(path("mds", "dataset"), ignore_errors=True)
    with streaming.MDSWriter(out=path("mds", "dataset"), columns={"text": "str", "tokens": "ndarray"}) as writer:
        for text, document in zip(TEXTS, DOCUMENTS):
            writer.write({"text": text, "tokens": numpy.array(document, dtype=numpy.uint16)})
    with webdataset.TarWriter(path("webdataset", "text.tar")) as writer:
        for i, text in enumerate(TEXTS):
            writer.write({"__key__": f"sample{i}", "txt": text})


def litdata():
    import litdata
    with tempfile.TemporaryDirectory() as place:
        litdata.optimize(fn=litdata_sample, inputs=list(range(20)), output_dir=place, chunk_size=20, num_workers=1)
        shutil.copy(next(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".bin")), path("litdata", "chunk.bin"))


def litdata_sample(index):
    return {"text": TEXTS[index % 3]}


def tfrecord():
    import tfrecord
    writer = tfrecord.TFRecordWriter(path("tfrecord", "text.tfrecord"))
    for text in TEXTS:
        writer.write({"text": (text.encode(), "byte")})
    writer.close()


def tensors():
    import h5py
    import numpy
    import safetensors.numpy
    import torch
    torch.save(torch.tensor(IDS), path("tensors", "tokens.pt"))
    torch.save(torch.tensor(IDS), path("tensors", "legacy.pt"), _use_new_zipfile_serialization=False)
    safetensors.numpy.save_file({"tokens": numpy.array(IDS)}, path("tensors", "tokens.safetensors"))
    with h5py.File(path("tensors", "tokens.h5"), "w", libver="latest") as file:
        file["tokens"] = numpy.array(IDS)
    with open(path("tensors", "tokens.pkl"), "wb") as file:
        pickle.dump(IDS, file)


def others():
    import fpdf
    import PIL.Image
    place = path("others", "text.sqlite")
    if os.path.exists(place):
        os.remove(place)
    database = sqlite3.connect(place)
    database.execute("pragma page_size = 512")
    database.execute("create table pages (text)")
    database.executemany("insert into pages values (?)", [(text,) for text in TEXTS])
    database.commit()
    document = fpdf.FPDF()
    document.add_page()
    document.set_font("Helvetica")
    document.cell(text=TEXTS[1].strip())
    document.output(path("others", "text.pdf"))
    PIL.Image.new("1", (8, 8)).save(path("others", "image.png"))
    with zipfile.ZipFile(path("others", "text.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text.txt", "".join(TEXTS))
    with open(path("others", "utf16.txt"), "w", encoding="utf-16") as file:
        file.write("".join(TEXTS))
    with open(path("others", "list.json"), "w") as file:
        json.dump([{"text": text} for text in TEXTS], file)


def main():
    parts = {"llmc": lambda: llmc(sys.argv[1]), "nanogpt": lambda: nanogpt(sys.argv[2]), "megatron": megatron, "numpy": numpy_arrays,
             "arrow": arrow, "huggingface": huggingface, "shards": shards, "litdata": litdata, "tfrecord": tfrecord, "tensors": tensors,
             "others": others}
    for name, make in parts.items():
        if name in sys.argv[3:] or len(sys.argv) == 3:
            make()


if __name__ == "__main__":
    main()
