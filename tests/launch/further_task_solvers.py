"""Answers of tasks, computed from the printed examples alone: a dict of kinds and functions.

A solver gets the task's file, as a dict, and examples; it checks every scored answer with `check`, and, where the task
says so, the distance.
"""

import json
import re

from program import check

VALUES = 10
WORDS = ["=", "++", "--", "if", "<", ">", ":", "print", ";", "END"]


def scored(example):
    """Where answers begin, and their tokens."""
    return {answer["at"]: (example["tokens"][answer["at"]:answer["at"] + answer["tokens"]], answer["distance"])
            for answer in example["answers"]}


def largest_items(spec):
    return max(part["items"] for split in spec["splits"] for part in split["parts"])


def items_of(spec, example):
    split = next(split for split in spec["splits"] if split["name"] == example["split"])
    return split["parts"][example["part"]]["items"]


def words_of(tokens):
    """A program as a list of numbers, names and words."""
    for token in tokens:
        if token < VALUES:
            yield token + 1
        elif token < VALUES + len(WORDS):
            yield WORDS[token - VALUES]
        else:
            yield f"v{token - VALUES - len(WORDS)}"


def solve_variables(spec, examples):
    for example in examples:
        words = list(words_of(example["tokens"]))
        values, since, printed, at = {}, {}, {}, 0

        def change(begin, executed, condition=None):
            name, operator = words[begin], words[begin + 1]
            if executed:
                check(operator != "=" or name not in values, "a variable is assigned once")
                values[name] = words[begin + 2] if operator == "=" else values[name] + (1 if operator == "++" else -1)
                check(1 <= values[name] <= 10, "values are 1 to 10")
            if operator == "=" and executed:
                since[name] = begin + 2
            if condition is not None and name in values:
                since[name] = min(since[name], condition)
            return begin + (3 if operator == "=" else 2)

        while words[at] != "END":
            if words[at] == "print":
                name = words[at + 1]
                printed[at + 2] = ([values[name] - 1], at + 2 - since[name])
                since[name] = at + 2
                at += 3
            elif words[at] == "if":
                left, operator, right = words[at + 1:at + 4]
                number = values[right] if right in values else right
                holds = values[left] < number if operator == "<" else values[left] > number
                condition = min(since[name] for name in (left, right) if name in values)
                at = change(at + 5, holds, condition)
            else:
                at = change(at, True)
            check(words[at] == ";", "a statement ends with ;")
            at += 1
        check(scored(example) == printed, f"variables: {scored(example)} where the program prints {printed}")


def solve_collisions(spec, examples):
    grid, colours = spec.get("grid", 16), spec.get("colours", 5)
    asked, quarters = 2 * grid + colours, 2 * grid + 2 * colours
    for example in examples:
        tokens, items = example["tokens"], items_of(spec, example)
        met, expected, width = {}, {}, 3 * items + 3
        for step in range(len(tokens) // width):
            row = tokens[step * width:(step + 1) * width]
            particles = [row[3 * i:3 * i + 3] for i in range(items)]
            for i, first in enumerate(particles):
                for second in particles[i + 1:]:
                    if first[:2] == second[:2]:
                        place = 2 * (first[0] >= grid / 2) + (first[1] - grid >= grid / 2)
                        met[first[2] - 2 * grid, second[2] - 2 * grid] = (place, step * width + 3 * i)
            pair, at = (row[-3] - asked, row[-2] - asked), (step + 1) * width - 1
            if pair in met:
                expected[at] = ([quarters + met[pair][0]], at - met[pair][1])
            else:
                check(row[-1] == quarters + 4, "what has not met is said so")
        check(scored(example) == expected, f"collisions: {scored(example)}, expected {expected}")


def solve_pairs(spec, examples):
    """In-context recall, with or without noise."""
    half = spec["vocabulary"] // (4 if spec["kind"] == "noisy_recall" else 2)
    for example in examples:
        tokens, known, expected = example["tokens"], {}, {}
        for at in range(0, len(tokens), 2):
            key = tokens[at]
            if key >= half:
                continue
            if key in known:
                value, before = known[key]
                expected[at + 1] = ([value], at + 1 - before)
            known[key] = (tokens[at + 1] if key not in known else known[key][0], at)
        check(len(tokens) - 1 in expected, "the last is asked")
        check(scored(example) == expected, f"{spec['kind']}: {scored(example)}, expected {expected}")


def solve_fuzzy_recall(spec, examples):
    keys, filler = (spec["vocabulary"] - 1) // 2, spec["vocabulary"] - 1
    for example in examples:
        tokens, known, expected, at = example["tokens"], {}, {}, 0
        while at < len(tokens) and tokens[at] != filler:
            begin = at
            while tokens[at] < keys:
                at += 1
            key, value = tuple(tokens[begin:at]), at
            while at < len(tokens) and keys <= tokens[at] < filler:
                at += 1
            if key in known:
                expected[value] = (known[key][0], value - known[key][1])
            known[key] = (known[key][0] if key in known else tokens[value:at], begin)
        check(len(expected) > 0, "one is asked")
        check(scored(example) == expected, f"fuzzy_recall: {scored(example)}, expected {expected}")


def solve_compression(spec, examples):
    symbols = spec["vocabulary"] - largest_items(spec)
    for example in examples:
        tokens, expected = example["tokens"], {}
        count = next(i for i, token in enumerate(tokens) if token >= symbols)
        for at in range(count, 3 * count, 2):
            place = tokens[at] - symbols
            expected[at + 1] = ([tokens[place]], at + 1 - place)
        check(scored(example) == expected and len(set(tokens[count:3 * count:2])) == count, "compression")


def solve_memorisation(spec, examples):
    table = {}
    for example in examples:
        tokens = example["tokens"]
        check(len(example["answers"]) == len(tokens) // 2, "every value is asked")
        keys = [tokens[answer["at"] - 1] for answer in example["answers"]]
        check(len(set(keys)) == len(keys), "no key stands twice")
        for answer, key in zip(example["answers"], keys):
            check(answer["distance"] == 0, "the text decides nothing")
            value = tokens[answer["at"]]
            check(table.setdefault(key, value) == value, "a key has one value in all examples")
    check(len(set(table.values())) == len(table), "values differ")
    return table


def text_answers(example):
    """The text before the first answer, the answers, and where what decides them begins, of a dataset of bytes."""
    data = bytes(example["tokens"]).decode("latin-1")
    answers = [data[answer["at"]:answer["at"] + answer["tokens"]] for answer in example["answers"]]
    begins = [answer["at"] - answer["distance"] for answer in example["answers"]]
    return data[:example["answers"][0]["at"]], answers, begins


def solve_passkey(spec, examples):
    for example in examples:
        text, answers, begins = text_answers(example)
        found = re.search(r" The pass key is( (\d+)\. Remember it\. \2 is the pass key\.)", text)
        check(answers == [found[2]] and begins == [found.start(1)] and 1 <= int(found[2]) <= 50000, "passkey")


def solve_needles(spec, examples):
    for example in examples:
        text, answers, begins = text_answers(example)
        asked = re.search(r"magic number for ([a-z]{6}) mentioned in the provided text is $", text)[1]
        found = re.search(r" One of the special magic numbers for( " + asked + r") is: (\d{7})\.", text)
        check(answers == [found[2]] and begins == [found.start(1)], "needles")


def solve_variable_tracking(spec, examples):
    for example in examples:
        text, answers, begins = text_answers(example)
        value = re.search(r"are assigned the value (\d+), they are: $", text)[1]
        known, first = [], None
        for name, of in re.findall(r" VAR ([A-Z]{5}) = (?:VAR )?([A-Z]{5}|\d{5})\.", text):
            if of == value:
                first = text.index(f" {name} = {value}")
            if of == value or of in known:
                known.append(name)
        check(answers == known and set(begins) == {first}, f"variable_tracking: {answers}, expected {known}")


def listed(words):
    """Counts, and the order in which they first stand."""
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def solve_common_words(spec, examples):
    for example in examples:
        text, answers, begins = text_answers(example)
        head, tail = text[:text.rindex(" Question:")], text[text.rindex(" Question:"):]
        entries = head[head.rindex(" 1. "):]
        counts = listed(re.findall(r" \d+\. ([a-z]{6})", entries))
        count = int(re.search(r"What are the (\d+) most common", tail)[1])
        largest = sorted(counts.values())[-count]
        common = [word for word in counts if counts[word] >= largest]
        check(answers == common and len(common) == count, f"common_words: {answers}, expected {common}")
        check(begins == [head.rindex(" 1. ") + entries.index(" " + word) for word in common], "common_words: distances")


def solve_frequent_words(spec, examples):
    for example in examples:
        text, answers, begins = text_answers(example)
        head, tail = text[:text.rindex(" Question:")], text[text.rindex(" Question:"):]
        begin = head.rindex(" appeared coded words.") + len(" appeared coded words.")
        counts = listed(word for word in head[begin:].split(" ") if re.fullmatch("[a-z]{6}", word))
        count = int(re.search(r"What are the (\d+) most frequently", tail)[1])
        falling = sorted(counts, key=counts.get, reverse=True)
        check(answers == falling[:count] and counts[falling[count - 1]] > counts[falling[count]],
              f"frequent_words: {answers}, expected {falling[:count]}")
        check(begins == [begin + head[begin:].index(" " + word) for word in answers], "frequent_words: distances")


SOLVERS = {
    "variables": solve_variables,
    "collisions": solve_collisions,
    "in_context_recall": solve_pairs,
    "noisy_recall": solve_pairs,
    "fuzzy_recall": solve_fuzzy_recall,
    "compression": solve_compression,
    "memorisation": solve_memorisation,
    "passkey": solve_passkey,
    "needles": solve_needles,
    "variable_tracking": solve_variable_tracking,
    "common_words": solve_common_words,
    "frequent_words": solve_frequent_words,
}


# Sizes as published, but for the length of what is hidden in text and of the collisions.
SHAPES = {
    "variables": {"vocabulary": 23, "length": 460, "items": 3},
    "collisions": {"vocabulary": 47, "length": 575, "items": 2},
    "in_context_recall": {"vocabulary": 16, "length": 127, "items": 8},
    "noisy_recall": {"vocabulary": 32, "length": 127, "items": 8},
    "fuzzy_recall": {"vocabulary": 16, "length": 127, "items": 3},
    "compression": {"vocabulary": 46, "length": 92, "items": 31},
    "memorisation": {"vocabulary": 256, "length": 31, "items": 128},
    "passkey": {"length": 383, "items": 1},
    "needles": {"length": 767, "items": 4},
    "variable_tracking": {"length": 767, "items": 5, "chains": 2},
    "common_words": {"length": 767, "items": 3, "common_repeats": 6, "other_repeats": 1},
    "frequent_words": {"length": 767, "items": 2},
}


def check_further_tasks(program, examples=10000):
    """Solves so many examples of each kind, of which those in text have the dataset `filler`, made of bytes."""
    tables = []
    for kind, seed in [*((kind, 1) for kind in SHAPES), ("memorisation", 2)]:
        keys = dict(SHAPES[kind])
        part = {"examples": examples, "length": keys.pop("length"), "items": keys.pop("items")}
        spec = {"kind": kind, "seed": seed, **keys, "splits": [{"name": "train", "parts": [part]}]}
        if "vocabulary" not in spec:
            spec["filler"] = "filler"
        program.write(kind + ".json", json.dumps(spec))
        output, _ = program.run("tasks", kind + ".json", "--print", examples)
        lines = output.splitlines()
        check(len(lines) == examples, f"{kind}: expected {examples} examples, found {len(lines)}")
        # Decoded one by one: all at once would fill memory with small numbers.
        table = SOLVERS[kind](spec, map(json.loads, lines))
        if kind == "memorisation":
            tables.append(table)
    check(len(tables[0]) == 128 and tables[0] != tables[1], "another seed has another table")
