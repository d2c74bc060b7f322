"""Encodes a text with PyPI's tokenizers, all of its lines as one batch on all processors, and writes the tokens as a file of
numbers: what `segue prepare` does with the same tokenizer.json. Needs tokenizers. A line of JSON.

examples:
  venv/bin/python benchmarks/peers/tokenizers_encode.py tokenizer.json book.txt
"""

import argparse
import array
import json
import pathlib
import tempfile
import time

from command_line import Parser, needs

needs("tokenizers")
import tokenizers  # noqa: E402


def parse_arguments() -> argparse.Namespace:
    parser = Parser()
    for name, what in (("tokenizer", "a tokenizer.json"), ("text", "file of text")):
        parser.add_argument(name, type=pathlib.Path, help=what)
    arguments = parser.parse_args()
    for name in ("tokenizer", "text"):
        if not getattr(arguments, name).is_file():
            parser.error(f"{name}: expected a file, found none at {getattr(arguments, name)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    tokenizer = tokenizers.Tokenizer.from_file(str(arguments.tokenizer))
    began = time.monotonic()
    lines = arguments.text.read_bytes().decode("utf-8").split("\n")
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    with tempfile.TemporaryFile() as file:
        tokens = 0
        for encoding in tokenizer.encode_batch(lines, add_special_tokens=False):
            array.array("I", encoding.ids).tofile(file)
            tokens += len(encoding.ids)
    print(json.dumps({"seconds": time.monotonic() - began, "tokens": tokens, "version": tokenizers.__version__}))


if __name__ == "__main__":
    main()
