"""What `segue prepare` says of texts that are too short, of tags or tables, the same in two splits, or on one line."""

import random

from prepared_sources import DATA, TEXT, prepare, prepared, run_each, warnings
from program import check, refused


def write_plain(program):
    program.write("plain.txt", TEXT)


def test_small_texts(program):
    """What is too short is named, with what to do."""
    program.write("empty.txt", "")
    program.write("short.txt", "It was a bright day.\n\n\n\n")
    refused(program, DATA, "prepare", "empty.txt", "--output", "none", says=("empty.txt: the file is empty; name one with text in it",))
    refused(program, DATA, "prepare", "short.txt", "--output", "none",
            says=('short.txt: split "valid": expected at least 2 tokens, found 1 of 24; give more text, or a larger share with --split',))
    program.write("letter.txt", "a")
    refused(program, DATA, "prepare", "--train", "plain.txt", "--valid", "letter.txt", "--output", "none",
            says=('letter.txt: split "valid": expected at least 2 tokens, found 1 of 1; give more text',))
    code, errors = prepare(program, "--input", "plain.txt", "--split", "0.9,0.1")
    check(code == 0 and "--split: two shares make train and valid, and no test; three make all" in errors, errors)
    for shares in ("0.9,0.05,0.05", "1"):
        check("two shares" not in prepare(program, "--input", "plain.txt", "--split", shares)[1], f"--split {shares}")


def test_looks(program):
    """Tags and tables are read as they are, and told of; what prose has is no sign of them."""
    page = "<!DOCTYPE html>\n<html><body>" + "<p>It was a bright day.</p>\n" * 99
    table = "item,cond,sentence\n" + '1,a,"It was a bright, cold day."\n' * 99
    for name, content, says in (
            ("page.html", page, "tags of HTML or XML in 1 source, the first page.html: kept, so a model learns to write them; "
                                "pandoc -t plain page.html gives the text alone"),
            ("book.xml", '<?xml version="1.0"?>\n' + page, "tags of HTML or XML"),
            ("stim.csv", table, "columns of a table in 1 source, the first stim.csv: kept, so a model learns to write them; write the column"),
            ("stim.tsv", table.replace(",", "\t"), "columns of a table"), ("two.csv", "a,b\n1,2\n3,4\n5,6\n" * 9, "columns of a table")):
        program.write(name, content)
        found = warnings(program, "--input", name)
        check(says in found and len(found.splitlines()) == 1, found)
        check("HTML" not in warnings(program, "--input", name, "--as-is"), f"{name}: told of, as it is")
    found = warnings(program, "--input", "page.html", "stim.csv", "book.xml")
    check("in 2 sources, the first page.html" in found and "1 source, the first stim.csv" in found, found)
    for name, content in (("prose.txt", "He came, saw\nand went, too\nbut not, yes\nor so, no\n" * 99), ("math.txt", "<a < b>\n" * 99),
                          ("verse.txt", "Tiger, tiger,\nburning, bright,\nin the, forests,\nof the, night,\n" * 99)):
        program.write(name, content)
        check(warnings(program, "--input", name) == "", f"{name}: {warnings(program, '--input', name)}")
    for options in ((), ("--format", "uint16")):
        refused(program, DATA, "prepare", "--field", "sentence", *options, "--input", "stim.csv", "--output", "none",
                says=("stim.csv: expected lines of JSON, of which --field takes a part, found a table with the columns item, cond, sentence;",
                      "without --field all of it is text"))
    refused(program, DATA, "prepare", "--field", "text", "--input", "plain.txt", "--output", "none",
            says=("plain.txt: expected lines of JSON", 'found text that begins "It was a bright day',))


def test_shared_sources(program):
    """What is learned and evaluated on is named; a file that is cut into splits is not."""
    program.write("copy.txt", TEXT)
    found = warnings(program, "--train", "plain.txt", "--valid", "copy.txt")
    check("plain.txt in train and copy.txt in valid hold the same text" in found, found)
    check(warnings(program, "--input", "plain.txt") == "", "a file of its own is warned of")


def test_one_line(program):
    """A text without an end of line: bytes and pieces are read, words where there is white space, and shares say why not."""
    source = random.Random(2)
    words = ["".join(source.choice("abcdefg") for _ in range(source.randint(1, 7))) for _ in range(300)]
    program.write("line.txt", " ".join(source.choice(words) for _ in range(100000)))
    prepared(program, "--input", "line.txt")
    prepared(program, "--tokenizer", "word", "--train", "line.txt")
    prepared(program, "--tokenizer", "sentencepiece", "--vocab-size", 400, "--train", "line.txt")
    refused(program, DATA, "prepare", "--tokenizer", "word", "--input", "line.txt", "--output", "none",
            says=('split "valid"', "perhaps no line begins there"), leaves_nothing_at="none")
    program.write("word.txt", b"x" * 3000000)
    refused(program, DATA, "prepare", "--tokenizer", "word", "--train", "word.txt", "--output", "none",
            says=("word.txt: byte 0: expected words of at most 65536 bytes",))


run_each((write_plain, test_small_texts, test_looks, test_shared_sources, test_one_line))
