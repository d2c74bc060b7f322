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
from program import TINY_MODEL, check, read_evaluation

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
        job.run_ranks(ranks, "eval", "--checkpoint", "run", "--data", "data", "--per-token", "--force", "--output", "evaluated",
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
    job.run("eval", "--checkpoint", "run", "--data", "data", "--per-token", "--force", "--output", "evaluated", "--quiet",
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


def test_one_estimator(job):
    """The intervals of a comparison are those that an evaluation and a paired difference of the same losses have."""
    job.config("base.json", data={"path": "data"}, model=TINY_MODEL, training={"batch_size": 2, "tgt_len": 16},
               evaluation={"interval": 0})
    job.config("pair.json", base="base.json", budget={"amount": 400}, seeds=[1], measure={"mem_len": [8], "batch_size": 1},
               variants=[{"name": "memory"}, {"name": "memoryless", "set": ["model.mem_len=0"]}])
    output, _ = job.run("compare", "pair.json", "--output", "pair", "--quiet")
    with open(job.path("pair", "result.json")) as file:
        compared = json.load(file)
    files = []
    for variant in compared["variants"]:
        directory = job.path("pair", "runs", f"{variant['name']}-1", "evaluations", "compare")
        evaluated, found = read_evaluation(directory)["results"][0], variant["losses"][0]
        check(found["per_byte"]["bits"] == found["bits_per_byte"], f"bits per byte: {found}")
        for ours, theirs in ((found["confidence95"], evaluated["confidence95"]),
                             (found["per_byte"]["confidence95"], evaluated["bits_per_byte_confidence95"])):
            check(math.isclose(ours, theirs, rel_tol=1e-6), f"{variant['name']}: ± {ours}, in its evaluation {theirs}")
        files.append(os.path.join(directory, evaluated["per_token"]))
    job.run("paired-difference", files[1], files[0], "--output", "pair.json.difference")
    with open(job.path("pair.json.difference")) as file:
        paired = json.load(file)["differences"][0]
    difference = compared["variants"][1]["losses"][0]
    for ours, theirs in ((difference["difference"]["loss"], paired["loss"]),
                         (difference["difference"]["confidence95"], paired["confidence95"]),
                         (difference["per_byte"]["difference"]["bits"], paired["bits_per_byte"]),
                         (difference["per_byte"]["difference"]["confidence95"], paired["bits_per_byte_confidence95"])):
        check(math.isclose(ours, theirs, rel_tol=1e-9), f"a difference: {ours}, paired {theirs}")
    scaled = difference["confidence95"] * compared["tokens_per_byte"] / math.log(2)
    check(abs(scaled / difference["per_byte"]["confidence95"] - 1) > 0.02, "a text on which both estimators agree shows nothing")
    shown = f"{difference['per_byte']['difference']['bits']:+.4f} ± {difference['per_byte']['difference']['confidence95']:.4f}"
    check("bits/byte" in output and shown in output, f"expected {shown}:\n{output}")


def test_unknown(job):
    """The share of the unknown word is of the very tokens that were scored."""
    job.write("train.txt", "the cat sat on the mat\n" * 300)
    job.write("test.txt", "the cat sat on a mat\n" * 40 + "some dog lay by the door\n" * 40)
    job.run("prepare", "--tokenizer", "word", "--train", "train.txt", "--test", "test.txt", "--output", "unknown")
    unknown = 0  # the first of the vocabulary, without a mark of lines
    job.write_config(data={"path": "unknown"}, training={"batch_size": 2, "tgt_len": 16, "max_step": 2},
                     evaluation={"interval": 1, "max_tokens": 300, "split": "test", "batch_size": 1})
    shutil.rmtree(job.path("run"), ignore_errors=True)
    _, errors = job.run("train", "config.json", "--run", "run")
    with open(job.path("run", "metrics.jsonl")) as file:
        line = next(line for line in map(json.loads, file) if "evaluation" in line)
    check(f"unknown {100 * line['unknown_share']:.3g} %" in errors, errors)
    for ranks, options in ((1, ["--max-tokens", 200]), (2, ["--mem-len", "0,8", "--batch-size", 3, "--warm-up", 24])):
        shown, _ = job.run_ranks(ranks, "eval", "--checkpoint", "run", "--data", "unknown", "--per-token", "--force", "--output",
                                 "run/evaluations/unknown", *options)
        results = read_evaluation(job.path("run", "evaluations", "unknown"))["results"]
        shares = [result["unknown_share"] for result in results]
        for result in results:
            file = os.path.join("run", "evaluations", "unknown", result["per_token"])
            targets = [target for target, loss in zip(row(job, "targets", file, "i"), row(job, "nll", file, "f"))
                       if not math.isnan(loss)]
            expected = targets.count(unknown)
            check((result["unknown_tokens"], result["unknown_share"]) == (expected, expected / len(targets)), f"{options}: {result}")
            check(f"{100 * result['unknown_share']:.3g} %" in shown and "unknown" in shown, shown)
    job.run("report", "run", "--output", "page.html")
    with open(job.path("page.html")) as file:
        page = file.read()
    check(">unknown</th>" in page and f"{100 * result['unknown_share']:.3g} %" in page, "the page says no share")
    for share, of in ((line["unknown_share"], "split test in training"), (shares[0], "evaluation unknown (split test)")):
        check(f"{100 * share:.3g} % of {of}" in page, f"the page says no share of {of}")
    job.run("prepare", "--train", "train.txt", "--test", "test.txt", "--output", "bytes")
    job.run("train", "config.json", "--set", "data.path=bytes", "--run", "bytes-run", "--quiet")
    shown, _ = job.run("eval", "--checkpoint", "bytes-run", "--data", "bytes", "--output", "of-bytes")
    check("unknown" not in shown and "unknown_share" not in read_evaluation(job.path("of-bytes"))["results"][0], shown)


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
        job.run_ranks(2, "eval", "--checkpoint", "run", "--data", data, "--per-token", "--force", "--output", "evaluated", "--quiet",
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
            test_one_estimator(job)
        if kind == "sentencepiece":
            test_marks(job)
    test_unknown(job)


if __name__ == "__main__":
    main()
