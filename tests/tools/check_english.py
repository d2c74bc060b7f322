#!/usr/bin/env python3
"""Fails where a page is hard to read: too many long sentences, or too many semicolons.

check_english.py ROOT [--table]: the repository; --table prints both measures of each page.
"""

import pathlib
import re
import sys

# The pages that are held to the limits. What a program writes is not.
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "configs/README.md", "benchmarks/README.md",
         "benchmarks/peers/README.md", "launch/**/README.md", "tests/golden/README.md"]
MADE_BY_PROGRAM = {"docs/reference.md"}
LONG = 30  # words; a sentence with more is long
MOST_LONG = 0.12  # of the sentences of a page
MOST_SEMICOLONS = 0.10  # for each sentence
# Pages not yet rewritten, each with its present measures as its limits. One that meets the limits above must leave.
PENDING = {}
# Whose dot ends no sentence.
ABBREVIATION = re.compile(r"(?:^|[ (\[])(?:e\.g|i\.e|cf|vs|al|approx|[Ff]ig|[Ee]q|[Ss]ec|No|\.\.)\.$")
END = re.compile(r"[.!?][)\]\"'”’]*(?= |$)")
ITEM = re.compile(r" *(?:[-*+]|\d+[.)]) +")
LABEL = 3  # what has fewer words is a label, no sentence


def blocks_of(text):
    """The paragraphs and the items of lists, each as one line, without code, tables and headings."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    block, fenced, in_code, in_list = [], False, False, False
    for line in [*text.splitlines(), ""]:
        begins_item = ITEM.match(line)
        after_blank = not block
        in_code = line.startswith("    ") and (in_code or after_blank and not in_list)
        is_text = line.strip() and not (fenced or in_code or line.startswith(("```", "|", "#")))
        if block and (begins_item or not is_text):
            yield " ".join(block)
            block = []
        if line.startswith("```"):
            fenced = not fenced
        if is_text:
            block.append(line[begins_item.end():] if begins_item else line.strip())
            in_list = bool(begins_item) or in_list and (not after_blank or line.startswith(" "))
        elif line.startswith("#"):
            in_list = False


def prose_of(block):
    """As it is read: code is one word, a link its text, a picture nothing."""
    block = re.sub(r"`+[^`]+`+", "code", block)
    block = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", block)
    block = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)
    block = re.sub(r"<https?:[^>]*>", "address", block)
    return re.sub(r"\*\*|(?<!\w)[*_]|[*_](?!\w)", "", block)


def words_of(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def sentences_of(text):
    """They end at . ! or ? before a space, and where a paragraph or an item ends."""
    for block in blocks_of(text):
        prose = " ".join(prose_of(block).split())
        begin = 0
        for end in [*(match.end() for match in END.finditer(prose)), len(prose)]:
            sentence = prose[begin:end].strip()
            if end < len(prose) and ABBREVIATION.search(sentence):
                continue
            begin = end
            if len(words_of(sentence)) >= LABEL:
                yield sentence


def measure(text):
    """The number of sentences, the share of long ones, and semicolons for each sentence."""
    sentences = list(sentences_of(text))
    count = max(1, len(sentences))
    return (len(sentences), sum(len(words_of(sentence)) > LONG for sentence in sentences) / count,
            sum(sentence.count(";") for sentence in sentences) / count)


def pages_of(root):
    found = {path.relative_to(root).as_posix() for pattern in PAGES for path in root.glob(pattern)}
    return sorted(found - MADE_BY_PROGRAM)


def problems_of(page, text, pending):
    """What is wrong with one page, as lines that begin with its name."""
    _, long, semicolons = measure(text)
    most_long, most_semicolons = pending.get(page, (MOST_LONG, MOST_SEMICOLONS))
    if page in pending and long <= MOST_LONG and semicolons <= MOST_SEMICOLONS:
        yield f"{page}: meets the limits of all pages: take it out of PENDING"
    if long > most_long:
        yield f"{page}: {long:.1%} of the sentences have more than {LONG} words; expected at most {most_long:.1%}"
        longest = sorted(sentences_of(text), key=lambda sentence: -len(words_of(sentence)))[:5]
        yield from (f"  {len(words_of(sentence))} words: {sentence}" for sentence in longest)
    if semicolons > most_semicolons:
        yield f"{page}: {semicolons:.2f} semicolons for each sentence; expected at most {most_semicolons:.2f}"


def problems_under(root, pending):
    pages = pages_of(root)
    for page in pages:
        yield from problems_of(page, (root / page).read_text(encoding="utf-8"), pending)
    yield from (f"{page}: in PENDING, and not there" for page in pending if page not in pages)


def table_of(root):
    yield f"{'page':28}{'sentences':>10}{'long':>8}{'semicolons':>12}"
    for page in pages_of(root):
        count, long, semicolons = measure((root / page).read_text(encoding="utf-8"))
        yield f"{page:28}{count:10}{long:8.1%}{semicolons:12.2f}"


def main():
    root = pathlib.Path(sys.argv[1])
    if "--table" in sys.argv[2:]:
        print("\n".join(table_of(root)))
    found = list(problems_under(root, PENDING))
    print("\n".join(found) or "every page is easy enough to read")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
