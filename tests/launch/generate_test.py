"""Text from a model: the same for the same seed, alone or among others; surprisal of words; what is refused."""

import csv
import gzip
import io
import json
import lzma
import math
import os
import random
import re
import struct
import subprocess

from program import TINY_MODEL, Program, check, refused

USAGE, CONFIG, DATA, CHECKPOINT = 2, 3, 4, 5
program = Program()
program.prepare_text("data", 6000, seed=1)
config = program.config("config.json", data={"path": "data"}, model=TINY_MODEL, training={
    "batch_size": 2, "tgt_len": 16, "max_step": 80, "log_interval": 40}, optimizer={"lr": 0.01}, evaluation={"interval": 0})
program.run("train", config, "--run", "run", "--quiet")


def generate(*arguments):
    return program.run("generate", "--checkpoint", "run", *arguments)


def samples(*arguments):
    generate("--prompt", "abc def ", "--tokens", 40, "--json", "samples.json", *arguments)
    with open(program.path("samples.json"), errors="strict") as file:
        return json.load(file)


def test_same_seed_same_text():
    first, _ = generate("--prompt", "abc def ", "--tokens", 40)
    check(first.startswith("abc def "), "the prompt is shown first")
    check(generate("--prompt", "abc def ", "--tokens", 40)[0] == first, "the same seed gave another text")
    check(generate("--prompt", "abc def ", "--tokens", 40, "--seed", 2)[0] != first, "another seed gave the same text")
    check(generate("--prompt", "abc def ", "--tokens", 40, "--mem-len", 200)[0] == generate(
        "--prompt", "abc def ", "--tokens", 40, "--mem-len", 100)[0], "a memory that is never full changed the text")


def test_samples():
    alone = samples()
    among = samples("--samples", 3)
    check([s["tokens"] for s in among["samples"]] == [40] * 3, "tokens of the samples")
    check(among["samples"][0] == alone["samples"][0], "the first sample depends on the others")
    check(len({s["text"] for s in among["samples"]}) == 3, "samples are the same")
    greedy = samples("--samples", 2, "--temperature", 0)["samples"]
    check(greedy[0] == greedy[1], "temperature 0 is not the most probable token")
    check(samples("--top-k", 1)["samples"][0] == greedy[0], "--top-k 1 is not the most probable token")


def test_stop():
    whole = samples()["samples"][0]["text"]
    stop = whole[11:13]
    found = samples("--stop", stop)["samples"][0]
    check(found["stopped"] and found["text"] == whole[:whole.index(stop)], f"--stop {stop!r}: {found}")
    check(not samples("--stop", "never there")["samples"][0]["stopped"], "stopped at nothing")
    typed = "".join(f"\\x{byte:02x}" for byte in stop.encode())
    check(samples("--stop", typed)["samples"][0] == found, f"--stop {typed}: another text")
    check(samples("--stop", r"\n")["stop"] == "\n", "--stop: an escape is not read")
    refused(program, USAGE, "generate", "--checkpoint", "run", "--prompt", "a", "--stop", r"\xz", says=["--stop", "hexadecimal"])
    check("--prompt: \\n is read as a backslash" in generate("--prompt", r"a\nb", "--tokens", 1)[1], "no warning")


def test_long_prompt():
    with open(program.path("data.txt")) as file:
        text = file.read()[:1000]
    program.write("prompt.txt", text)
    output, errors = generate("--prompt-file", "prompt.txt", "--tokens", 5, "--mem-len", 64)
    check(output.startswith(text), "the prompt is shown first")
    check("prompt: 1,000 tokens" in errors and "tokens/s" in errors, errors)
    check(re.search(r"memory [\d.]+ [KM]iB on cpu: weights .* KV cache .* activations", errors), errors)


def test_a_model_is_used_otherwise():
    scored = [generate("--score", "prompt.txt", *flags)[0] for flags in (
        ["--mem-len", 8, "--clamp-len", 5], ["--set", "model.mem_len=8", "--set", "model.position.clamp_len=5"], [])]
    check(scored[0] == scored[1], "--set gives other bits than the flags")
    check(scored[0] != scored[2], "neither changes anything")


def read_table(table):
    """With `line_end` for that of a line."""
    rows = list(csv.reader(io.StringIO(table, newline=""), delimiter="\t"))
    return [[row[0].replace("line end", "line_end"), *row[1:]] for row in rows]


def test_surprisal():
    with open(program.path("data.txt")) as file:
        text = file.read()[5400:].rstrip()  # the split that is evaluated below
    program.write("test.txt", text)
    rows = read_table(generate("--score", "test.txt", "--mem-len", 24, "--tgt-len", 16)[0])
    check(rows[0] == ["word", "bits", "tokens", "unknown"], rows[0])
    check([row[0] for row in rows[1:]] == re.sub(" *\n", " line_end ", text).split(), "the words are not those of the text")
    check(rows[1][1] == "" and all(row[1] for row in rows[2:]), f"only the first word has no bits: {rows[1:3]}")
    check(sum(int(row[2]) for row in rows[1:]) == len(text), "tokens of the words")
    with_context = read_table(generate("--score", "test.txt", "--prompt", text[:200] + " ")[0])
    check(with_context[1][0] == text.split()[0] and float(with_context[1][1]) > 0, f"after a context: {with_context[1]}")


def test_surprisal_is_the_loss():
    with open(program.path("data.txt")) as file:
        text = file.read()[5400:]
    program.write("rest.txt", text[1:])
    table = read_table(generate("--score", "rest.txt", "--prompt", text[0], "--mem-len", 24, "--tgt-len", 16)[0])
    program.run("eval", "--checkpoint", "run", "--data", "data", "--batch-size", 1, "--output", "test", "--quiet")
    with open(program.path("test", "evaluation.json")) as file:
        loss = json.load(file)["results"][0]["loss"]
    scored = sum(int(row[2]) for row in table[1:])
    check(scored == len(text) - 1, f"{scored} tokens scored of {len(text)}")
    bits = sum(float(row[1]) for row in table[1:])
    check(math.isclose(bits / scored, loss / math.log(2), rel_tol=1e-4), f"{bits / scored} bits, eval {loss}")


def test_table_of_any_words():
    """A reader of tables finds every word as it is, quotes at any place included."""
    text = 'He said "yes and "no" to \\t it\'s 5" \'tis "" a"b'
    program.write("quotes.txt", text)
    rows = read_table(generate("--score", "quotes.txt")[0])
    check([row[0] for row in rows[1:]] == text.split(), rows)
    check(all(len(row) == 4 for row in rows), rows)


TEXT = "abc defg hij\nbcd ae\n"


def scored(name, content, *arguments):
    program.write(name, content)
    return generate("--score", name, *arguments)


def test_text_is_read_as_prepare_reads_it():
    """As a source: marks left out, compressed text decompressed, other encodings refused by name, signs told of."""
    plain, _ = scored("plain.txt", TEXT)
    check(read_table(plain)[1][2] == "3", plain)
    table, errors = scored("marked.txt", b"\xef\xbb\xbf" + TEXT.encode())
    check(table == plain and "1 byte order mark in 1 source, the first marked.txt: left out" in errors, table + errors)
    check(scored("text.gz", gzip.compress(TEXT.encode()))[0] == plain, "compressed text is not read as the text")
    check(scored("marked.txt", b"\xef\xbb\xbf" + TEXT.encode(), "--as-is")[0] != plain, "--as-is leaves the mark out")
    table, errors = scored("returns.txt", TEXT.replace("\n", "\r\n").encode())
    check("2 lines end with CR LF in 1 source, the first returns.txt: kept" in errors, errors)
    check([row[0:3:2] for row in read_table(table)] == [["line_end", "2"] if row[0] == "line_end" else row[0:3:2]
                                                        for row in read_table(plain)], f"CR LF: {table}")
    check("2 zero bytes in 1 source" in scored("zeros.txt", b"ab\0 \0cd" + b" abc" * 20)[1], "zero bytes are not told of")
    for name, content, says in (("wide.txt", TEXT.encode("utf-16"), "UTF-16"), ("32.txt", TEXT.encode("utf-32"), "UTF-32"),
                                ("be.txt", (TEXT * 2).encode("utf-16-be"), "UTF-16"), ("a.zip", b"PK\x03\x04" + b"a" * 99, "a zip"),
                                ("twice.gz", gzip.compress(gzip.compress(b"a")), "twice"),
                                ("cut.gz", gzip.compress(TEXT.encode())[:-9], "cut off"),
                                ("a.jsonl", b'{"text": "a b"}\n' * 2, 'fields "text"; --as-is'),
                                ("tokens.bin", struct.pack("<2000H", *(i % 50 for i in range(2000))),
                                 "expected text, found what looks like raw tokens of uint16, as nanoGPT writes them; --as-is"),
                                ("noise", random.Random(1).randbytes(5000), "expected text, found what looks like no text; --as-is"),
                                ("paper.pdf", b"%PDF-1.7\n", "a PDF file: pdftotext paper.pdf - | segue generate run {} -; --as-is"),
                                ("a.parquet", b"PAR1" + bytes(99), " | jq -r .text | segue generate run {} -; --as-is"),
                                ("packed.pdf.xz", lzma.compress(b"%PDF-1.7\n"),
                                 "xz -dc packed.pdf.xz > packed.pdf && pdftotext packed.pdf - | segue generate run {} -; --as-is")):
        program.write(name, content)
        for flag in ("--score", "--prompt-file"):
            refused(program, DATA, "generate", "--checkpoint", "run", flag, name, says=[name + ": ", says.format(flag)])
    for flag, text in (("--score", TEXT), ("--prompt-file", "abc d")):
        command = [program.binary, "generate", "--checkpoint", "run", flag, "-", "--quiet"]
        done = subprocess.run(command, input=gzip.compress(text.encode()), cwd=program.directory, env=program.environment,
                              capture_output=True, check=True)
        found = done.stdout.decode(errors="replace")
        check(found == plain if flag == "--score" else found.startswith(text), f"{flag} -: {found}")
    for name, content, says in (("page.html", "<html><body>It was</body></html>\n" * 3, "tags of HTML or XML in 1 source, the first page.html: read like words"),
                                ("stim.csv", "item,text\n1,ab\n2,cd\n3,ef\n", "columns of a table in 1 source, the first stim.csv: read like words")):
        check(says in scored(name, content)[1], f"{name} is not told of")
    program.write("pointer", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1234567\n")
    refused(program, 6, "generate", "--checkpoint", "run", "--score", "pointer", says=["Git LFS's pointer"])
    os.mkfifo(program.path("pipe"))
    refused(program, 6, "generate", "--checkpoint", "run", "--score", "pipe", says=["found a pipe; - is standard input"])
    refused(program, USAGE, "generate", "--checkpoint", "run", "--score", "-", "--prompt-file", "-", says=["standard input (-) once"])
    refused(program, USAGE, "generate", "--checkpoint", "run", "--prompt", "a", "--as-is", says=["--as-is"])


def test_what_is_not_scored():
    nothing = "found only {}, with nothing before it: give it a context with --prompt"
    for content, says in (("word", nothing.format("a word")), (" ", nothing.format("white space")), ("", "at least one token"),
                          (b"\xef\xbb\xbf", "at least one token")):
        program.write("short.txt", content)
        refused(program, DATA, "generate", "--checkpoint", "run", "--score", "short.txt", says=["short.txt: ", says])
    program.write("empty.txt", "")
    refused(program, DATA, "generate", "--checkpoint", "run", "--score", "plain.txt", "--prompt-file", "empty.txt",
            says=["empty.txt: expected text of at least one token"])
    table, errors = scored("line.txt", "word\n", "--json", "line.json")
    check(re.search(r"1 word, not scored: nothing comes before it; 1 line end, [\d.]+ bits per line end; \d+ tokens/s", errors), errors)
    check("0.000" not in errors, errors)
    with open(program.path("line.json")) as file:
        line = json.load(file)
    check([row["bits"] is None for row in line["rows"]] == [True, False], line)
    check(line["words"] == {"count": 1, "scored": 0, "unknown": 0, "bits": 0.0, "mean": None} and line["line_ends"]["scored"] == 1, line)
    check(read_table(table)[1:] == [["word", "", "4", "0"], ["line_end", f"{line['rows'][1]['bits']:.4f}", "1", "0"]], table)
    check("all samples are the same" in generate("--prompt", "a", "--tokens", 2, "--temperature", 0, "--samples", 2)[1], "no warning")


def test_refusals():
    def refuse(code, *arguments, says):
        refused(program, code, "generate", "--checkpoint", "run", *arguments, says=says)

    refuse(USAGE, says=["--prompt", "--score"])
    refuse(DATA, "--prompt", "", says=["--prompt", "at least one token"])
    refuse(USAGE, "--prompt", "a", "--top-p", 2, says=["--top-p", "<= 1", "2"])
    refuse(USAGE, "--prompt", "a", "--temperature", "nan", says=["--temperature", "nan"])
    refuse(CONFIG, "--prompt", "a", "--set", "model.n_layer=3", says=["--set model.n_layer=3", "how weights are used"])
    refuse(CONFIG, "--prompt", "a", "--set", "model.mem_len=3", "--mem-len", 3, says=["--mem-len", "one of them"])
    refuse(CONFIG, "--prompt", "a", "--same-length", "--mem-len", 0, says=["segue generate: --mem-len: expected at least 1"])
    refuse(CONFIG, "--prompt", "a", "--set", 'model={"visibility": {"same_length": true}}', "--no-same-length",
           says=["--no-same-length and --set model.visibility.same_length"])
    refuse(6, "--prompt-file", "absent.txt", says=["absent.txt: there is no such file; --prompt-file takes a file", "--prompt takes a text itself"])
    refuse(6, "--score", "The old man", says=["The old man: there is no such file; --score takes a file, or - for standard input"])
    program.prepare_tokens("numbers", 50, train=[i % 50 for i in range(400)], valid=[1] * 50)
    program.run("train", config, "--set", "data.path=numbers", "--set", "training.max_step=1", "--run", "numbers-run",
                "--quiet")
    refused(program, CHECKPOINT, "generate", "--checkpoint", "numbers-run", "--prompt", "a", says=["tokenizer", "none"])
    program.write("letters.txt", "abcdefgh abcdefgh hgfedcba " * 40)
    program.run("prepare", "--tokenizer", "text8", "--input", "letters.txt", "--split", "0.8,0.2", "--output", "letters")
    program.run("train", config, "--set", "data.path=letters", "--set", "training.max_step=1", "--run", "letters-run",
                "--quiet")
    refused(program, DATA, "generate", "--checkpoint", "letters-run", "--prompt", "abz", says=["--prompt", "0x7a", "vocabulary"])
    program.write("two_lines.txt", "abc\nde f\n")
    table, errors = program.run("generate", "--checkpoint", "letters-run", "--score", "two_lines.txt")
    check("two_lines.txt: line feeds are left out" in errors and read_table(table)[1][0] == "abcde", table + errors)
    program.write("words.txt", "a b c a b d\n" * 40)
    program.run("prepare", "--tokenizer", "word", "--eos", "line", "--input", "words.txt", "--split", "0.8,0.2", "--output", "words")
    program.run("train", config, "--set", "data.path=words", "--set", "training.max_step=1", "--run", "words-run", "--quiet")
    _, errors = program.run("generate", "--checkpoint", "words-run", "--prompt", "zzz a yyy", "--tokens", 2)
    check("--prompt: 2 of 3 tokens are not in the vocabulary: the model reads an unknown word in their place" in errors, errors)
    _, errors = program.run("generate", "--checkpoint", "words-run", "--prompt", "a b", "--tokens", 2)
    check("not in the vocabulary" not in errors, errors)
    program.write("unknown.txt", "zzz a yyy\nb")
    table, errors = program.run("generate", "--checkpoint", "words-run", "--score", "unknown.txt", "--json", "unknown.json")
    rows = read_table(table)[1:]
    check([row[0::3] for row in rows] == [["zzz", "1"], ["a", "0"], ["yyy", "1"], ["line_end", "0"], ["b", "0"]], table)
    check("the first not scored" in errors and "1 of 4 scored tokens (25 %) are unknown to the vocabulary" in errors, errors)
    with open(program.path("unknown.json")) as file:
        found = json.load(file)
    check([(row["word"], row["unknown_tokens"]) for row in found["rows"]]
          == [("zzz", 1), ("a", 0), ("yyy", 1), (None, 0), ("b", 0)], found["rows"])
    check((found["tokens"], found["unknown_tokens"], found["unknown_share"], found["words"]["unknown"]) == (4, 1, 0.25, 2), found)


for test in (test_same_seed_same_text, test_samples, test_stop, test_long_prompt, test_a_model_is_used_otherwise,
             test_surprisal, test_surprisal_is_the_loss, test_table_of_any_words, test_text_is_read_as_prepare_reads_it,
             test_what_is_not_scored, test_refusals):
    test()
print("generate_test: passed")
