"""Bits per byte are over the bytes of the very tokens that were scored, whatever part of a text these are."""

import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess

from job import Job, require
from program import check, read_evaluation

GPT2 = str(pathlib.Path(__file__).resolve().parents[1] / "data_pipeline" / "tokenizer" / "ready_made" / "gpt2.json")


def growing_text(seed):
    """Words of one letter, then ever longer ones, in lines; their lengths say where in the text one is."""
    source = random.Random(seed)
    lines = []
    for length in (1, 1, 2, 4, 9, 17, 29):
        for _ in range(12):
            lines.append(" ".join("".join(source.choice("abc") for _ in range(length)) for _ in range(10)))
    return "\n".join(lines) + "\n"


def row(job, name, file, code):
    raw = job.path("row.raw")
    subprocess.run(["h5dump", "-d", name, "-b", "LE", "-o", raw, job.path(file)], check=True, capture_output=True)
    with open(raw, "rb") as data:
        return [value for (value,) in struct.iter_unpack("<" + code, data.read())]


def row_of_split(job, dataset, name):
    return row(job, "tokens", os.path.join(dataset, name + "-00000.h5"), "B")


def prepare(job, name, *options):
    job.run("prepare", "--train", "text.txt", "--valid", "text.txt", "--test", "text.txt", "--output", name, *options)


def bytes_of_tokens(kind, text):
    """By what each kind's tokens are, without what the program says of it; of pieces, none."""
    if kind == "byte":
        return [1] * len(text)
    if kind == "enwik8":  # all bytes but line feeds, which the byte before has
        return [1 + len(after) for _, after in re.findall(r"([^\n])(\n*)", text)]
    if kind in ("sentencepiece", GPT2):
        return None
    return [len(piece) for piece in re.findall(r"\S+\s?" if kind == "word" else r"\S+ ?|\n", text)]


def check_figures(what, nll, sizes, figures, tolerance=1e-9):
    """`figures`: a result, or a line of metrics, of the tokens whose loss is a number."""
    scored = [i for i, loss in enumerate(nll) if not math.isnan(loss)]
    expected = sum(nll[i] for i in scored) / sum(sizes[i] for i in scored) / math.log(2)
    found = figures["bits_per_byte"]
    check(math.isclose(found, expected, rel_tol=tolerance), f"{what}: {found} bits per byte, expected {expected}")
    return sum(sizes[i] for i in scored)


WAYS = {
    "blocks": ["--batch-size", 3],
    "blocks of the beginning": ["--batch-size", 2, "--max-tokens", 150],
    "streams of the beginning": ["--batch-size", 3, "--warm-up", "auto", "--max-tokens", 201],
    "a warm-up": ["--batch-size", 4, "--warm-up", 24],
    "windows": ["--recompute", "--stride", 4, "--batch-size", 5, "--max-tokens", 333],
}


def test_every_way_of_scoring(job, kind, text):
    prepare(job, "data", "--force", *({"word": ["--tokenizer", "word"], "marked": ["--tokenizer", "word", "--eos", "line"]}
                           .get(kind, ["--tokenizer", kind, *(["--vocab-size", 280] if kind == "sentencepiece" else [])])))
    sizes = bytes_of_tokens(kind, text) or row_of_split(job, "data", "test-bytes")
    check(sum(sizes) == len(text) and max(sizes[:60]) < 4, f"{kind}: {sum(sizes)} bytes, of the first tokens {sizes[:60]}")
    job.write_config(data={"path": "data"}, evaluation={"interval": 3, "max_tokens": 170, "split": "test", "batch_size": 2},
                     training={"batch_size": 1, "tgt_len": 40, "max_step": 3})
    shutil.rmtree(job.path("run"), ignore_errors=True)
    job.train(1, "run")
    with open(job.path("run", "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    for step, line in enumerate(line for line in lines if "evaluation" not in line):
        ratio = line["bits_per_byte"] / line["bits_per_token"]
        check(math.isclose(ratio, 40 / sum(sizes[step * 40 + 1:step * 40 + 41]), rel_tol=1e-9), f"{kind}: {line}")
    for number, (way, options) in enumerate(WAYS.items()):
        ranks = number % 3 + 1
        job.run_ranks(ranks, "eval", "--checkpoint", "run", "--data", "data", "--per-token", "--output", "evaluated",
                      "--quiet", *options)
        result = read_evaluation(job.path("evaluated"))["results"][0]
        file = os.path.join("evaluated", result["per_token"])
        nll = row(job, "nll", file, "f")
        check(row(job, "token_bytes", file, "i") == sizes, f"{kind}: bytes of tokens")
        scored = check_figures(f"{kind}, {way}, {ranks} ranks", nll, sizes, result)
        check(result["bytes"] == scored, f"{kind}, {way}: {result['bytes']} bytes, expected {scored}")
        for table in ("by_position", "by_context"):
            check(sum(line["bytes"] for line in result[table]) == scored, f"{kind}, {way}: bytes {table}")
            bits = sum(line["bits_per_byte"] * line["bytes"] for line in result[table])
            check(math.isclose(bits / scored, result["bits_per_byte"], rel_tol=1e-9), f"{kind}, {way}: bits {table}")
    # That of training scores as blocks do.
    job.run("eval", "--checkpoint", "run", "--data", "data", "--per-token", "--output", "evaluated", "--quiet",
            "--batch-size", 2, "--max-tokens", 170)
    result = read_evaluation(job.path("evaluated"))["results"][0]
    nll = row(job, "nll", os.path.join("evaluated", result["per_token"]), "f")
    check_figures(f"{kind}, in training", nll, sizes, next(line for line in lines if "evaluation" in line), 1e-6)


def test_differences(job):
    """Of two evaluations of a part of the text."""
    files = []
    for mem_len in (0, 8):
        job.run("eval", "--checkpoint", "run", "--data", "data", "--per-token", "--output", f"at-{mem_len}", "--quiet",
                "--mem-len", mem_len, "--max-tokens", 400, "--batch-size", 1)
        files.append(os.path.join(f"at-{mem_len}", f"losses-mem-{mem_len}.h5"))
    job.run("paired-difference", *files, "--output", "difference.json")
    with open(job.path("difference.json")) as file:
        compared = json.load(file)
    sizes = row(job, "token_bytes", files[0], "i")
    losses = [row(job, "nll", file, "f") for file in files]
    for found, nll in zip(compared["evaluations"], losses):
        check_figures("an evaluation of a pair", nll, sizes, found)
    check_figures("a difference", [a - b for a, b in zip(*losses)], sizes, compared["differences"][0], 1e-6)
    difference = compared["differences"][0]
    check(difference["bits_per_byte_confidence95"] > 0.0, f"the interval of a difference: {difference}")


def test_marks(job):
    """Of examples of which only the answer's pieces are scored, a result that is over the bytes of these; and where nobody
    knows the bytes, none."""
    parts = [{"examples": 12, "length": 500}]
    job.config("task.json", kind="passkey", seed=2, filler="data",
               splits=[{"name": name, "parts": parts} for name in ("train", "test")])
    job.run("tasks", "task.json", "--output", "task", "--quiet")
    job.write("marked.bin", struct.pack("<600H", *[i % 7 for i in range(600)]))
    job.write("marked.bin.marks", bytes(1 if i % 6 == 5 else 0 for i in range(600)))
    job.run("prepare", *[word for name in ("train", "test") for word in (f"--{name}", "marked.bin")], "--format", "uint16",
            "--marks", "--example-tokens", 30, "--vocab-size", 7, "--output", "marked")
    for data in ("task", "marked"):
        job.write_config(data={"path": data}, evaluation={"interval": 0},
                         training={"batch_size": 1, "tgt_len": 15, "max_step": 2})
        shutil.rmtree(job.path("run"))
        job.train(1, "run")
        job.run_ranks(2, "eval", "--checkpoint", "run", "--data", data, "--per-token", "--output", "evaluated", "--quiet",
                      "--batch-size", 4)
        result = read_evaluation(job.path("evaluated"))["results"][0]
        file = os.path.join("evaluated", result["per_token"])
        nll = row(job, "nll", file, "f")
        check(sum(1 for loss in nll if not math.isnan(loss)) == result["tokens"] < len(nll) // 4, f"{data}: what is scored")
        if data == "marked":
            check("bits_per_byte" not in result and "bytes" not in result, f"bytes that nobody knows: {result}")
        else:
            check_figures("marked pieces", nll, row(job, "token_bytes", file, "i"), result)


def main():
    require("mpirun", "h5dump")
    job = Job()
    text = growing_text(3)
    job.write("text.txt", text)
    kinds = ["byte", "word", "marked", "enwik8", GPT2]
    _, refusal = job.run("prepare", "--train", "text.txt", "--tokenizer", "sentencepiece", "--vocab-size", 280, "--output",
                         "pieces", expect=None)
    if "without SentencePiece" not in refusal:
        kinds.append("sentencepiece")
    for kind in kinds:
        test_every_way_of_scoring(job, kind, text)
        if kind == "word":
            test_differences(job)
        if kind == "sentencepiece":
            test_marks(job)


if __name__ == "__main__":
    main()
