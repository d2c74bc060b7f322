"""What `segue prepare` makes of documents in lines of JSON, and what it puts between documents."""

from prepared_sources import DATA, TEXT, USAGE, lines, prepared, run_each, warnings, zstd
from program import check, refused


def test_json_lines(program):
    documents = [f"Document {i} of naïve\nlines \U0001f600.{chr(10) if i % 3 == 0 else ''}" for i in range(2000)]
    written = lines(*({"id": i, "text": text, "meta": {"text": 1}} for i, text in enumerate(documents)))
    program.write("pages.jsonl", written + b"\n" + lines({"text": ""}))
    program.write("pages.jsonl.zst", zstd(b"\xef\xbb\xbf" + written[:-1]))
    program.write("joined.txt", "".join(text if text.endswith("\n") else text + "\n" for text in documents).encode())
    program.write("separated.txt", "\0".join(documents).encode())
    for options, plain in (((), "joined.txt"), (("--separator", "0"), "separated.txt"),
                           (("--tokenizer", "word", "--eos", "line"), "joined.txt")):
        expected = prepared(program, *options, "--input", plain)
        for file in ("pages.jsonl", "pages.jsonl.zst"):
            check(prepared(program, *options, "--field", "text", "--input", file) == expected, f"{file} {options}: another text")
    for content, says in ((lines({"text": "a"}, {"body": "b"}, {"body": None}), 'expected a text "text" in at least half of the lines, found it in '
                           '1 of 3; line 2 has "body"'),
                          (lines({"id": 1}), 'found it in 0 of 1; line 1 has neither text nor lists'),
                          (lines({"texts": "a", "meta": {"text": "b"}}), 'line 1 has "meta.text", "texts"; did you mean texts?'),
                          (lines(*[{"text": None}] * 1000, {"text": 1}), "found it in 0 of 1,000; line 1 has"),
                          (lines({"text": 5}), 'line 1: expected a text "text", found 5'), (b"[1]\n", "line 1: expected an object, found a list; jq -c '.[]' "),
                          (b"\n" + lines({"text": "a"}) + b'{"text": "b", "score": NaN}\n', "bad.jsonl: line 3: column 24: expected a finite number, found NaN"),
                          (b"[\n" + lines({"text": "a"}), "line 1: expected an object, found a list; jq -c '.[]' "),
                          (b'{ \r\n  "text": "a"\n}\n', "line 1: expected a whole object, found the first line of one; jq"),
                          (lines({"text": "a"}) + b'{"text": "b', "line 2"), (b'{"text": "\xff"}\n', "line 1"),
                          (b'{"text": "' + b"x" * (70 << 20), "line 1: expected at most 64.0 MiB of JSON")):
        program.write("bad.jsonl", content)
        refused(program, DATA, "prepare", "--field", "text", "--train", "bad.jsonl", "--output", "none",
                says=("bad.jsonl: ", says), leaves_nothing_at="none")
    refused(program, DATA, "prepare", "--field", "text", "--format", "uint16", "--train", "pages.jsonl", "--output", "none",
            says=('line 1: expected a list "text"',))
    refused(program, DATA, "prepare", "--field", "id", "--train", "pages.jsonl", "--output", "none", says=('expected a text "id", found 0',))


def test_fields(program):
    """Fields of objects, keys with dots, and lines without the field."""
    program.write("plain.txt", b"a b\nc\n")
    for content, field in ((lines({"content": {"text": "a b"}}, {"content": {"text": "c"}}), "content.text"),
                           (lines({"a.b": {"c.d": "a b"}}, {"a.b": {"c.d": "c"}}), "a.b.c.d"),
                           (lines({"a.b": "a b", "a": {"b": "none"}}, {"a": {"b": "c"}}), "a.b"),
                           (lines({"a": {"b": {"c": "none"}, "b.c": "a b"}}, {"a": {"b": {"c": "c"}}}), "a.b.c"),
                           (lines({"a.b": {"c": "a b"}, "a": {"b": {"c": "none"}}}, {"a": {"b": {"c": "c"}}}), "a.b.c")):
        program.write("nested.jsonl", content)
        check(prepared(program, "--field", field, "--train", "nested.jsonl") == prepared(program, "--train", "plain.txt"), f"{field} of {content}")
    program.write("nested.jsonl", lines({"ids": None}, {"a": {"ids": [1, 2]}}, {}, {"a": {"ids": [3]}}))
    check(prepared(program, "--field", "a.ids", "--train", "nested.jsonl")[0][1] == 3, "lists of tokens")
    says = 'nested.jsonl: 2 of 4 lines have no "a.ids", or null in it, and are left out'
    check(says in warnings(program, "--field", "a.ids", "--train", "nested.jsonl"), "lines that are left out are not told of")
    program.write("nested.jsonl", lines({"text": None}, {"text": "a b"}, {"a": "text"}, {"text": "c"}))
    check(prepared(program, "--field", "text", "--train", "nested.jsonl") == prepared(program, "--train", "plain.txt"), "null and no field")
    program.write("nested.jsonl", lines({"content": {"text": "a", "ids": [1]}}))
    refused(program, DATA, "prepare", "--train", "nested.jsonl", "--output", "none", says=('with the fields "content.ids", "content.text"',))
    program.write("nested.jsonl", lines({"content": {"text": {"parts": 1}}}))
    refused(program, DATA, "prepare", "--field", "content.text", "--train", "nested.jsonl", "--output", "none",
            says=('line 1: expected a text "content.text", found an object',))


def test_separators(program):
    """What is put between documents is no sign of bytes that are no text; an option that changes nothing is told of."""
    program.write("pages.jsonl", lines({"text": "a\r"}, {"text": "\nb"}))
    for separator in ("0", "13", "10"):
        check(warnings(program, "--field", "text", "--separator", separator, "--train", "pages.jsonl") == "", separator)
    program.write("zeros.jsonl", lines({"text": "a\0b\r\n"}, {"text": "\0"}))
    found = warnings(program, "--field", "text", "--separator", "0", "--train", "zeros.jsonl")
    check("2 zero bytes" in found and "1 line ends with CR LF" in found, found)
    program.write("plain.txt", TEXT)
    check("separator: nothing to put it between" in warnings(program, "--separator", "0", "--input", "plain.txt"), "no warning")
    program.write("other.txt", TEXT + b"another\n")
    check(warnings(program, "--separator", "0", "--input", "plain.txt", "other.txt") == "", "a warning of a separator with effect")
    for arguments, says in ((("--train", "plain.txt", "--split", "0.5,0.5"), "--split: expected --input to cut"),
                            (("--train", "plain.txt", "--tokenizer", "word", "--eos-word", "E"), '--eos-word: expected --eos line')):
        refused(program, USAGE, "prepare", *arguments, "--output", "none", says=(says,), leaves_nothing_at="none")


def test_separators_of_text(program):
    """The same bytes stand between documents, whatever the tokenizer; what it cannot express is refused."""
    documents = [f"one {i} two" for i in range(400)]
    program.write("pages.jsonl", lines(*({"text": text} for text in documents)))
    for name, text in (("0.txt", documents[0]), ("1.txt", documents[1])):
        program.write(name, text)
    words = ("--tokenizer", "word", "--eos", "line")
    pieces = ("--tokenizer", "sentencepiece", "--vocab-size", 300)
    for typed, text in (("\\n\\n\\n", "\n\n\n"), ("\n--\n", "\n--\n"), (" <doc> ", " <doc> "), ("\\x0a", "\n"), ("10", "\n")):
        program.write("joined.txt", text.join(documents))
        for options in ((), words, pieces):
            expected = prepared(program, *options, "--train", "joined.txt")
            found = prepared(program, *options, "--field", "text", "--separator", typed, "--train", "pages.jsonl")
            check(found == expected, f"{options}: another text with the separator {typed!r}")
        program.write("joined.txt", text.join(documents[:2]))
        expected = prepared(program, "--train", "joined.txt")
        check(prepared(program, "--separator", typed, "--train", "0.txt", "1.txt") == expected, f"{typed!r} between two files")
    program.run("prepare", *words, "--field", "text", "--separator", "\\n\\n\\n", "--input", "pages.jsonl", "--output", "apart", "--quiet")
    check('separator between sources: "\\n\\n\\n"' in program.run("inspect", "apart")[0], "inspect does not tell the separator")
    # Documents without line feeds are cut behind a separator.
    found = prepared(program, "--tokenizer", "word", "--field", "text", "--separator", " <doc> ", "--input", "pages.jsonl")
    check([split[1] % 4 for split in found[:2]] == [0, 0], f"splits begin within a document: {found}")
    for arguments, says in ((("--tokenizer", "word", "--separator", "<doc>"), "separator: expected white space at both ends"),
                            (("--tokenizer", "word", "--separator", "\\n\\n"), "makes tokens, found \"\\n\\n\"; segue prepare --eos line gives"),
                            (("--tokenizer", "enwik8", "--separator", "\\n"), "of which the tokenizer enwik8 makes tokens"),
                            ((*words, "--min-count", 400, "--separator", " <doc> "), 'separator: expected words of the vocabulary, found " <doc> "'),
                            (("--separator", "\\xg1"), "separator: expected two hexadecimal digits"), (("--separator", ""), "an empty text"),
                            (("--separator", "-1"), "separator: expected a byte from 0 to 255, found -1"),
                            (("--separator", "256"), "separator: expected a byte from 0 to 255, found 256")):
        refused(program, USAGE, "prepare", "--field", "text", "--train", "pages.jsonl", *arguments, "--output", "none", says=(says,),
                leaves_nothing_at="none")
    program.write("ids.jsonl", lines({"ids": [1, 2]}))
    refused(program, USAGE, "prepare", "--field", "ids", "--separator", "\\n", "--train", "ids.jsonl", "--output", "none",
            says=("separator: expected the number of a token between ready-made tokens",), leaves_nothing_at="none")


run_each((test_json_lines, test_fields, test_separators, test_separators_of_text))
