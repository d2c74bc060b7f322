"""Words and symbols as Python's own text mode, str.split() and Counter find them, and models kept from other tokens."""

import collections
import io
import json
import os
import random
import re
import shutil
import struct
import subprocess

from program import TINY_MODEL, Program, check, evaluate, refused

DATA, USAGE = 4, 2
WHITE_SPACE = [chr(c) for c in range(0x110000) if chr(c).isspace()]
NOT_UTF8 = [b"\xff", b"\xe2\x80", b"\xc2", b"\xe3\x80", b"\x80", b"\xe1\x9a", b"\xed\xa0\x80", b"\xc0\xaf"]


def manifest(program, dataset):
    with open(program.path(dataset, "manifest.json")) as file:
        return json.load(file)


def tokens_of(program, dataset, split):
    """All tokens of a split, read by HDF5's own tool."""
    described = manifest(program, dataset)
    code = {"uint8": "B", "uint16": "H", "uint32": "I"}[described["token_type"]]
    tokens = []
    for shard in next(s for s in described["splits"] if s["name"] == split)["shards"]:
        raw = program.path("tokens.raw")
        subprocess.run(["h5dump", "-d", "tokens", "-b", "LE", "-o", raw, program.path(dataset, shard["file"])],
                       check=True, capture_output=True)
        with open(raw, "rb") as file:
            tokens += [token for (token,) in struct.iter_unpack("<" + code, file.read())]
    return tokens


def strange_text(seed, size):
    """Words, and every kind of white space and end of line."""
    source = random.Random(seed)
    words = ["".join(source.choice("abé漢ßz") for _ in range(source.randint(1, 5))).encode() for _ in range(60)]
    words += [b"<unk>", b"<eos>"]
    parts = []
    for _ in range(size):
        kind = source.random()
        parts.append(source.choice(words))
        if kind < 0.5:
            parts.append(b" ")
        elif kind < 0.8:
            parts.append(source.choice(WHITE_SPACE).encode())
        elif kind < 0.95:
            parts.append(source.choice([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r\n", b"\n\r"]))
    return b"".join(parts)


def lines_of(content):
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=None)


def expected_words(content, eos, min_count, size):
    """The vocabulary by the rules of `segue prepare --help`, and a function from text to tokens."""
    counts = collections.Counter(word for line in lines_of(content) for word in line.split())
    special = ["<eos>"] if eos != "none" else []
    ranked = [word for word, count in counts.most_common() if count >= min_count and word not in special]
    kept = ranked[:size - len(special)]
    if "<unk>" not in kept:
        special.append("<unk>")
        kept = ranked[:size - len(special)]
    vocabulary = special + kept
    number = {word: token for token, word in enumerate(vocabulary)}

    def encode(text):
        tokens = []
        for line in lines_of(text):
            mark = ["<eos>"]
            words = line.split()
            words = {"none": words, "line": words + mark, "both": mark + words + mark}[eos]
            tokens += [number.get(word, number["<unk>"]) for word in words]
        return tokens
    return vocabulary, encode


def check_words(program, eos, min_count, size, seed):
    splits = {"train": strange_text(seed, 4000), "valid": strange_text(seed + 1, 500)}
    for name, content in splits.items():
        program.write(name + ".txt", content)
    arguments = ["--eos", eos, "--min-count", min_count] + (["--vocab-size", size] if size else [])
    program.run("prepare", "--tokenizer", "word", "--train", "train.txt", "--valid", "valid.txt", "--output", "words",
                "--force", "--shard-tokens", 999, *arguments)
    vocabulary, encode = expected_words(splits["train"], eos, min_count, size or 10**9)
    with open(program.path("words", "vocabulary.txt"), "rb") as file:
        stored = file.read().decode("utf-8").split("\n")
    check(stored == vocabulary + [""], f"words with {arguments}: another vocabulary")
    for name, content in splits.items():
        check(tokens_of(program, "words", name) == encode(content), f"words with {arguments}: other tokens in {name}")
        described = next(s for s in manifest(program, "words")["splits"] if s["name"] == name)
        check(described["bytes"] == len(content), f"{name}: {described['bytes']} bytes, expected {len(content)}")
        check(described["unknown"] == encode(content).count(vocabulary.index("<unk>")), f"{name}: unknown words")


def test_words(program):
    for seed, (eos, min_count, size) in enumerate(
            [("none", 1, None), ("line", 1, None), ("both", 2, None), ("line", 3, 40), ("none", 1, 10)]):
        check_words(program, eos, min_count, size, seed)


def test_words_are_utf8(program):
    for wrong in NOT_UTF8:
        program.write("wrong.txt", "é漢 b\n".encode() + b"a" + wrong + b" c")
        refused(program, DATA, "prepare", "--tokenizer", "word", "--train", "wrong.txt", "--output", "wrong",
                says=("wrong.txt: byte 9: expected UTF-8, found byte",), leaves_nothing_at="wrong.partial")


def test_word_list(program):
    program.write("list.txt", "<S> 12\n<UNK>\nb\na\n")
    program.write("text.txt", "a b c\n\nb")
    arguments = ("prepare", "--tokenizer", "word", "--train", "text.txt", "--vocabulary", "list.txt", "--force")
    program.run(*arguments, "--eos", "both", "--eos-word", "<S>", "--unk", "<UNK>", "--output", "listed")
    check(tokens_of(program, "listed", "train") == [0, 3, 2, 1, 0, 0, 0, 0, 2, 0], "a given list: other tokens")
    _, errors = program.run(*arguments, "--output", "unlisted", expect=DATA)
    check("text.txt: byte 4" in errors and '"c"' in errors, errors)
    check(not os.path.exists(program.path("unlisted")), "an unknown word left something behind")


def expected_symbols(kind, parts):
    """The original's files, and tokens from them as its reader makes them."""
    if kind == "enwik8":
        files = [" ".join("\n" if byte == 10 else str(byte) for byte in part) for part in parts]
        meaning = int
    else:
        files = [" ".join("_" if c == " " else c for c in part.decode().strip()) for part in parts]
        meaning = {"_": 32}
    symbols = [[s for line in io.StringIO(file) for s in line.strip().split()] for file in files]
    counts = collections.Counter(s for part in symbols for s in part)
    number = {s: token for token, (s, _) in enumerate(counts.most_common())}
    values = [meaning(s) if kind == "enwik8" else meaning.get(s, ord(s)) for s in number]
    return values, [[number[s] for s in part] for part in symbols]


def test_symbols(program):
    source = random.Random(5)
    # text8 begins and ends its splits where no one looks: with spaces, too.
    texts = {"enwik8": bytes(source.choice(b"abc \n\r\t\xc3\xa9\x00\xff<>") for _ in range(5000)),
             "text8": bytes(source.choice(b"the cat    ") for _ in range(5000))}
    for kind, text in texts.items():
        program.write("corpus", text)
        program.run("prepare", "--format", "text", "--tokenizer", kind, "--input", "corpus", "--split", "4000,600,400", "--output", kind)
        values, expected = expected_symbols(kind, [text[:4000], text[4000:4600], text[4600:]])
        described = manifest(program, kind)
        check(described["tokenizer"]["symbols"] == values, f"{kind}: other symbols")
        for split, tokens in zip(described["splits"], expected):
            check(tokens_of(program, kind, split["name"]) == tokens, f"{kind}: other tokens in {split['name']}")
        check([split["bytes"] for split in described["splits"]] == [4000, 600, 400], f"{kind}: sizes of splits")


def test_other_tokens_are_refused(program):
    """A model meets only text in the tokens it was trained with, whatever command brings the two together."""
    source = random.Random(1)
    words = "".join(source.choice(["a ", "b ", "cc ", "d\n"]) for _ in range(3000))
    program.write("words.txt", words)
    program.write("other.txt", words.replace("a", "e"))
    for name, arguments in {"one": ("words.txt", "--eos", "line"), "two": ("other.txt", "--eos", "line"),
                            "three": ("words.txt", "--eos", "both")}.items():
        program.run("prepare", "--tokenizer", "word", "--output", name, "--input", *arguments)
    file = program.config("run.json", data={"path": "one"}, model=TINY_MODEL, evaluation={"interval": 2},
                          training={"batch_size": 2, "tgt_len": 8, "max_step": 2, "log_interval": 1})
    program.run("train", file, "--run", "run")
    scored = evaluate(program, "--checkpoint", "run", "--data", "one")
    check(scored["unit"] == "word", "the unit of the result")
    for other in ("two", "three"):
        for command in (("eval", "--checkpoint", "run", "--data", other),
                        ("train", file, "--run", "run", "--resume", "--set", "data.path=" + other),
                        ("train", file, "--run", "fresh", "--set", "training.init_from=run", "--set", "data.path=" + other)):
            _, errors = program.run(*command, expect=DATA)
            found = re.search(rf"{other}: expected the tokenizer that .* was trained with, word, vocabulary 6, .*xxh3:\w+; found word, vocabulary 6, .*"
                              r"xxh3:\w+; prepare the text with that one", errors)
            check(found, f"{command}: {errors}")
    check(not os.path.exists(program.path("fresh")), "a refused start left a run behind")
    os.remove(program.path("one", "vocabulary.txt"))
    _, errors = program.run("eval", "--checkpoint", "run", "--data", "one", expect=DATA)
    check("vocabulary.txt: the tokenizer's file is missing" in errors, errors)


def test_options_that_do_not_fit(program):
    program.write("text.txt", "a b c\n")
    program.write("latin.txt", "ab\ncd é".encode("latin-1"))
    prepare = ("prepare", "--train", "text.txt", "--output", "none")
    for arguments, says in ((("--eos", "line"), "tokenizer word"),
                            (("--tokenizer", "word", "--model", "m"), "tokenizer sentencepiece"),
                            (("--tokenizer", "word", "--unk", "a b"), "white space"),
                            (("--tokenizer", "word", "--min-count", "0"), ">= 1"),
                            (("--tokenizer", "word", "--separator", "10"), "separator"),
                            (("--tokenizer", "text8", "--vocab-size", "27"), "tokenizer word or sentencepiece"),
                            (("--tokenizer", "word", "--format", "uint16"), "ready-made"),
                            (("--tokenizer", "sentencepiece"), "number of pieces")):
        _, errors = program.run(*prepare, *arguments, expect=USAGE)
        check(says in errors, f"{arguments}: expected {says!r} in {errors}")
    if "without it" in program.run(*prepare, "--tokenizer", "sentencepiece", "--vocab-size", 9000, expect=None)[1]:
        return
    pieces = ("prepare", "--tokenizer", "sentencepiece", "--vocab-size", 9000, "--output", "none")
    _, errors = program.run(*pieces, "--train", "latin.txt", expect=DATA)
    check("latin.txt: byte 6: expected UTF-8, found byte 0xe9" in errors, errors)
    _, errors = program.run(*pieces, "--train", "text.txt", expect=DATA)
    check("sentencepiece: --vocab-size: expected at most" in errors, errors)
    refused(program, DATA, "prepare", "--tokenizer", "sentencepiece", "--vocab-size", 100, "--train", "text.txt", "--output", "none",
            says=["sentencepiece: --vocab-size: expected at least 261 pieces", "found 100"])
    check(not os.path.exists(program.path("none")), "a refusal left something behind")


def wire_field(number, data):
    """Of a message of protocol buffers."""
    length, left = b"", len(data)
    while left >= 0x80:
        length, left = length + bytes([left & 0x7F | 0x80]), left >> 7
    return bytes([number << 3 | 2]) + length + bytes([left]) + data


def piece(text, kind=1):
    return wire_field(1, wire_field(1, text) + b"\x15" + struct.pack("<f", -1) + b"\x18" + bytes([kind]))


def test_hostile_models(program):
    """Models of the kinds that SentencePiece 0.1.97 and 0.2.0 crash at end in one line, never in a signal: steps and texts outside of
    a character map, long pieces, more pieces or sequences that begin each other than the library has room for. These here do not
    harm it: what is wrong lies where it does not go, or it refuses them, as those without <unk>.
    """
    program.write("text.txt", "a bb ccc uuuu\n" * 100)
    pieces = piece(b"a") + piece("\u2581".encode())
    model = piece(b"<unk>", 2) + pieces
    steps = [0xFFFFFFFF] * 512
    for at in range(255):
        steps[at] = at | (1 << 30)

    def mapped(units, model=model):
        return model + wire_field(3, wire_field(2, struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"b\0"))

    def apart(unit):
        return [0] + [0xFFFFFFFF] * 299 + [unit] + [0xFFFFFFFF] * 211

    hostile = {"far": mapped(apart(1 << 30 | 1 << 9)), "text": mapped(apart(0x100)), "circle": mapped([0] * 256), "steps": mapped(steps, pieces),
               "long": model + piece(b"b" * 4097), "nested": pieces + b"".join(piece(b"u" * length, 4) for length in range(1, 1000)),
               "size": model + wire_field(3, wire_field(2, b"\xf0\xff\xff\xff" + b"b" * 100)), "cut": (model + piece(b"b" * 1000))[:-500]}
    for name, data in hostile.items():
        program.write(name + ".model", data)
        _, errors = program.run("prepare", "--tokenizer", "sentencepiece", "--model", name + ".model", "--train", "text.txt",
                                "--output", "hostile", expect=None)
        if "built without it" in errors:
            return
        refused(program, DATA, "prepare", "--tokenizer", "sentencepiece", "--model", name + ".model", "--train", "text.txt",
                "--output", "hostile", says=(name + ".model: not a SentencePiece model",), leaves_nothing_at="hostile")


KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data_pipeline", "tokenizer", "ready_made")


def kept_text_and_tokens(name):
    """A text of several lines, and its tokens by the library that made the tokenizer."""
    with open(os.path.join(KEPT, "texts.jsonl")) as file:
        texts = [json.loads(line) for line in file]
    at = max(range(len(texts)), key=lambda i: texts[i].count("\n"))
    with open(os.path.join(KEPT, name + ".ids")) as file:
        return texts[at], [int(token) for token in file.read().split("\n")[at].split()]


def test_ready_made(program):
    """Tokenizers of other programs from text to bits per byte and back to text."""
    shutil.copy(os.path.join(KEPT, "ranks.tiktoken"), program.path("ranks.txt"))
    for name, options in (("gpt2", ()), ("llama2", ()), ("t5", ()), ("bert", ()), ("cl100k_base", ("--encoding", "cl100k_base"))):
        text, tokens = kept_text_and_tokens(name)
        program.write("text.txt", text)
        file = "ranks.txt" if options else os.path.join(KEPT, name + ".json")
        program.run("prepare", "--tokenizer", file, *options, "--train", "text.txt", "--output", name)
        check(tokens_of(program, name, "train") == tokens, f"{name}: other tokens")
        described = manifest(program, name)
        check(described["splits"][0]["bytes"] == len(text.encode()), f"{name}: bytes of the split")
        kind = described["tokenizer"]["kind"]
        stored = {"huggingface": "huggingface.json", "tiktoken": "ranks.tiktoken"}[kind]
        with open(program.path(file), "rb") as source, open(program.path(name, stored), "rb") as copy:
            check(source.read() == copy.read(), f"{name}: another file is kept")
    text, _ = kept_text_and_tokens("gpt2")
    program.write("long.txt", text * 20)
    program.run("prepare", "--tokenizer", os.path.join(KEPT, "gpt2.json"), "--input", "long.txt", "--output", "long")
    file = program.config("gpt2.json", data={"path": "long"}, model=TINY_MODEL, evaluation={"interval": 0},
                          training={"batch_size": 2, "tgt_len": 8, "max_step": 2, "log_interval": 1})
    program.run("train", file, "--run", "gpt2-run")
    scored = evaluate(program, "--checkpoint", "gpt2-run", "--data", "long")
    check(scored["unit"] == "token", "the unit of the result")
    written, _ = program.run("generate", "--checkpoint", "gpt2-run", "--prompt", "The gate keeper", "--tokens", "5")
    check("The gate keeper" in written, written)
    program.write("story.txt", "The keeper counts the ships.")
    surprisals, _ = program.run("generate", "--checkpoint", "gpt2-run", "--score", "story.txt")
    check("keeper" in surprisals, surprisals)
    _, errors = program.run("eval", "--checkpoint", "gpt2-run", "--data", "cl100k_base", "--split", "train", expect=DATA)
    check("found tiktoken" in errors and "encoding cl100k_base" in errors, errors)


def test_documents(program):
    """Each text of lines of JSON becomes the tokens that it would in a file of its own, as calls of a library give them."""
    with open(os.path.join(KEPT, "texts.jsonl")) as file:
        texts = [text for text in map(json.loads, file) if text]
    program.write("documents.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    os.mkdir(program.path("documents"))
    files = [program.write(f"documents/{i}.txt", (text + "\n" * (not text.endswith("\n"))).encode()) for i, text in enumerate(texts)]
    for name in ("gpt2", "llama2", "llama3", "prefixed", "t5", "bert", "gemma", "unigram_bytes", "wordpiece"):
        tokenizer = ["--tokenizer", os.path.join(KEPT, name + ".json")]
        program.run("prepare", *tokenizer, "--field", "text", "--train", "documents.jsonl", "--output", "of-lines", "--force")
        program.run("prepare", *tokenizer, "--as-is", "--train", *files, "--output", "of-files", "--force")
        found, expected = (tokens_of(program, dataset, "train") for dataset in ("of-lines", "of-files"))
        check(found == expected, f"{name}: {len(found)} tokens of lines, {len(expected)} of files")
        bytes_of = [manifest(program, dataset)["splits"][0]["token_bytes"]["checksum"] for dataset in ("of-lines", "of-files")]
        check(bytes_of[0] == bytes_of[1], f"{name}: the tokens stand for other bytes")
        with open(os.path.join(KEPT, name + ".ids")) as file:
            ids = [[int(token) for token in line.split()] for line in file.read().split("\n")]
        with open(os.path.join(KEPT, "texts.jsonl")) as file:
            ended = [(json.loads(line), ids[i]) for i, line in enumerate(file) if json.loads(line).endswith("\n")]
        program.write("ended.jsonl", "".join(json.dumps({"text": text}) + "\n" for text, _ in ended))
        program.run("prepare", *tokenizer, "--field", "text", "--train", "ended.jsonl", "--output", "of-lines", "--force")
        check(tokens_of(program, "of-lines", "train") == [token for _, tokens in ended for token in tokens],
              f"{name}: other tokens than its library's")
    # So many that threads take them in turns.
    program.write("many.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts * 400))
    tokenizer = ["--tokenizer", os.path.join(KEPT, "llama2.json")]
    program.run("prepare", *tokenizer, "--field", "text", "--train", "documents.jsonl", "--output", "of-lines", "--force")
    program.run("prepare", *tokenizer, "--field", "text", "--train", "many.jsonl", "--output", "of-many", "--force")
    check(tokens_of(program, "of-many", "train") == tokens_of(program, "of-lines", "train") * 400, "many documents: other tokens")


def test_token_bytes(program):
    """Tokens that another program made, with the file that says which bytes they are."""
    for name, table in (("gpt2", os.path.join(KEPT, "gpt2.json")), ("r50k_base", os.path.join(KEPT, "ranks.tiktoken"))):
        text, tokens = kept_text_and_tokens(name)
        program.write("tokens.bin", struct.pack(f"<{len(tokens)}H", *tokens))
        arguments = ("prepare", "--format", "uint16", "--vocab-size", 600, "--train", "tokens.bin", "--force", "--output", "raw")
        program.run(*arguments)
        check(manifest(program, "raw")["splits"][0]["bytes"] == 0, "bytes that nobody knows")
        program.run(*arguments, "--token-bytes", table)
        check(manifest(program, "raw")["splits"][0]["bytes"] == len(text.encode()), f"{name}: other bytes")
    program.write("tokens.bin", struct.pack("<9H", *range(500, 509)))
    _, errors = program.run(*arguments, "--token-bytes", table, expect=DATA)
    check("expected the bytes of token 500, found those of tokens below 420" in errors, errors)
    _, errors = program.run("prepare", "--train", "text.txt", "--token-bytes", table, "--output", "none", expect=USAGE)
    check("expected ready-made tokens, found text" in errors, errors)


def test_ready_made_options(program):
    program.write("text.txt", "the gate <|endoftext|> the keeper")
    ready_made = os.path.join(KEPT, "gpt2.json")
    prepare = ("prepare", "--train", "text.txt", "--output", "none")
    for arguments, says in ((("--tokenizer", "wrod"), "did you mean word?"),
                            (("--tokenizer", "ranks.txt"), "--encoding: expected one of gpt2"),
                            (("--tokenizer", "ranks.txt", "--encoding", "cl100k_bse"), "did you mean cl100k_base?"),
                            (("--tokenizer", ready_made, "--encoding", "gpt2"), "--encoding: expected --tokenizer tiktoken"),
                            (("--tokenizer", ready_made, "--vocab-size", "99"), "--vocab-size: expected none beside a file"),
                            (("--tokenizer", "huggingface"), "expected its file"),
                            (("--special-tokens",), "--special-tokens: expected --tokenizer huggingface or tiktoken"),
                            (("--tokenizer", ready_made, "--format", "uint16"), "ready-made tokens")):
        _, errors = program.run(*prepare, *arguments, expect=USAGE)
        check(says in errors, f"{arguments}: expected {says!r} in {errors}")
    for options, count in (((), 0), (("--special-tokens",), 1)):
        program.run(*prepare, "--tokenizer", ready_made, *options, "--force")
        check(tokens_of(program, "none", "train").count(0) == count, f"special tokens with {options}")


def main():
    program = Program()
    for test in (test_words, test_words_are_utf8, test_word_list, test_symbols, test_other_tokens_are_refused, test_options_that_do_not_fit, test_hostile_models,
                 test_ready_made, test_documents, test_token_bytes, test_ready_made_options):
        test(program)


main()
