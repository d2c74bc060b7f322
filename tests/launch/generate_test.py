"""Text from a model: the same for the same seed, alone or among others; surprisal of words; what is refused."""

import csv
import io
import json
import math
import re

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
    return list(csv.reader(io.StringIO(table, newline=""), delimiter="\t"))


def test_surprisal():
    with open(program.path("data.txt")) as file:
        text = file.read()[5400:].rstrip()  # the split that is evaluated below
    program.write("test.txt", text)
    rows = read_table(generate("--score", "test.txt", "--mem-len", 24, "--tgt-len", 16)[0])
    check(rows[0] == ["word", "bits", "tokens"], rows[0])
    check([row[0] for row in rows[1:]] == text.split(), "the words are not those of the text")
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
    check(scored == len(text) - 1 - (len(text) - len(text.rstrip())), f"{scored} tokens scored of {len(text)}")
    bits = sum(float(row[1]) for row in table[1:])
    if text == text.rstrip():
        check(math.isclose(bits / scored, loss / math.log(2), rel_tol=1e-4), f"{bits / scored} bits, eval {loss}")


def test_table_of_any_words():
    """A reader of tables finds every word as it is, quotes at any place included."""
    text = 'He said "yes and "no" to \\t it\'s 5" \'tis "" a"b'
    program.write("quotes.txt", text)
    rows = read_table(generate("--score", "quotes.txt")[0])
    check([row[0] for row in rows[1:]] == text.split(), rows)
    check(all(len(row) == 3 for row in rows), rows)


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
    refuse(6, "--prompt-file", "absent.txt", says=["absent.txt"])
    program.prepare_tokens("numbers", 50, train=[i % 50 for i in range(400)], valid=[1] * 50)
    program.run("train", config, "--set", "data.path=numbers", "--set", "training.max_step=1", "--run", "numbers-run",
                "--quiet")
    refused(program, CHECKPOINT, "generate", "--checkpoint", "numbers-run", "--prompt", "a", says=["tokenizer", "none"])
    program.write("letters.txt", "abcdefgh abcdefgh hgfedcba " * 40)
    program.run("prepare", "--tokenizer", "text8", "--input", "letters.txt", "--split", "0.8,0.2", "--output", "letters")
    program.run("train", config, "--set", "data.path=letters", "--set", "training.max_step=1", "--run", "letters-run",
                "--quiet")
    refused(program, DATA, "generate", "--checkpoint", "letters-run", "--prompt", "abz", says=["--prompt", "0x7a", "vocabulary"])


for test in (test_same_seed_same_text, test_samples, test_stop, test_long_prompt, test_a_model_is_used_otherwise,
             test_surprisal, test_surprisal_is_the_loss, test_table_of_any_words, test_refusals):
    test()
print("generate_test: passed")
