"""Solves the examples of synthetic tasks from their tokens alone, as the tasks are described, one solver for each kind.

A solver is given the spec, the part and the tokens of an example, without what pads it to others, and yields the
answers: where each begins, its tokens, and where what decides its first token stands. `asked` are the places at which
answers are said to begin, for tasks whose filler may look like a question.
"""


class Wrong(Exception):
    """An example that is not as its task has it."""


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def recall(spec, part, tokens, asked):
    """Keys of the lower half, values of the upper; every key is asked for once behind the pairs. Last values count."""
    half, items = spec["vocabulary"] // 2, part["items"]
    pairs = items + int(spec.get("reassigned", 0) * items)
    keys, values = tokens[0:2 * pairs:2], tokens[1:2 * pairs:2]
    expect(all(1 <= key < half for key in keys), "a key that is none")
    expect(all(half <= value for value in values), "a value that is none")
    expect(len(set(values)) == pairs, "a value twice")
    expect(len(set(keys[:items])) == items and len(set(keys[items:])) == pairs - items, "a key twice")
    expect(set(keys[items:]) <= set(keys[:items]), "a new key among those that are given another value")
    written = {key: 2 * i + 1 for i, key in enumerate(keys)}
    expect(sorted(tokens[at - 1] for at in asked) == sorted(written), "keys that are asked for")
    for at in asked:
        expect(at > 2 * pairs and at % 2 == 1, "a question off its place")
        yield at, [tokens[written[tokens[at - 1]]]], written[tokens[at - 1]]


def retrieval(spec, part, tokens, asked):
    """Of N keys from 1 on and N values from the middle on; then one key."""
    items, first = part["items"], (spec["vocabulary"] + 1) // 2
    pairs = part.get("pairs") or items
    keys, values = tokens[0:2 * pairs:2], tokens[1:2 * pairs:2]
    if not spec.get("replacement"):
        expect(sorted(keys) == list(range(1, items + 1)), "not every key once")
        expect(sorted(values) == list(range(first, first + items)), "not every value once")
    expect(all(1 <= key <= items for key in keys), "a key that is none")
    expect(all(first <= value < first + items for value in values), "a value that is none")
    last = max(i for i, key in enumerate(keys) if key == tokens[2 * pairs])
    yield 2 * pairs + 1, [values[last]], 2 * last + 1


def rewrite(spec, part, tokens, asked):
    """KEY : VALUE in every segment, then ? KEY :"""
    symbols, segment, size = spec["vocabulary"] - 3, spec.get("segment", 8), spec.get("key_tokens", 1)
    colon, question, filler = symbols, symbols + 1, symbols + 2
    written, seen = {}, []
    for i in range(part["items"]):
        row = tokens[i * segment:(i + 1) * segment]
        key = tuple(row[:size])
        expect(all(symbol < symbols for symbol in (*key, row[size + 1])), "a symbol that is none")
        expect(row[size] == colon and set(row[size + 2:]) <= {filler}, "a segment of another form")
        written[key] = i * segment + size + 1
        seen.append(key)
    if not spec.get("rewritten"):
        expect(len(written) == part["items"], "a key twice")
    else:
        expect(len(written) <= (part["items"] + 1) // 2, "too many keys to be rewritten")
    at = part["items"] * segment
    expect(tokens[at] == question and tokens[at + 1 + size] == colon, "a question of another form")
    at, place = at + size + 2, written[tuple(tokens[at + 1:at + 1 + size])]
    expect(set(tokens[at + 1:]) <= {filler}, "tokens behind the answer")
    yield at, [tokens[place]], place


def copy(spec, part, tokens, asked):
    mark, filler = spec["vocabulary"] - 2, spec["vocabulary"] - 1
    count = tokens.index(mark)
    expect((part.get("shortest") or part["items"]) <= count <= part["items"], "another number of symbols")
    expect(all(symbol < mark for symbol in tokens[:count]), "a symbol that is none")
    expect(set(tokens[2 * count + 1:]) <= {filler}, "tokens behind the answer")
    yield count + 1, tokens[:count], 0


def selective_copy(spec, part, tokens, asked):
    mark, filler = spec["vocabulary"] - 2, spec["vocabulary"] - 1
    end = tokens.index(mark)
    places = [i for i, token in enumerate(tokens[:end]) if token != filler]
    expect(len(places) == part["items"] and len(tokens) == end + 1 + part["items"], "another number of symbols")
    yield end + 1, [tokens[i] for i in places], places[0]


def induction(spec, part, tokens, asked):
    special = spec["vocabulary"] - 1
    first = tokens.index(special)
    places = [i for i, token in enumerate(tokens) if token == special]
    expect(places == [first, len(tokens) - 2], "another special token")
    yield len(tokens) - 1, [tokens[first + 1]], first + 1


def ngram(spec, part, tokens, asked):
    mark, size, items = spec["vocabulary"] - 2, spec["key_tokens"], part["items"]
    end = tokens.index(mark)
    key = tokens[end + 1:end + 1 + size]
    starts = [i for i in range(end - size + 1) if tokens[i:i + size] == key]
    expect(len(starts) == 1 and starts[0] + size + items <= end, "a key that does not stand once")
    expect(len(tokens) == end + 1 + size + items, "another length")
    begin = starts[0] + size
    yield end + 1 + size, tokens[begin:begin + items], begin


def regular_language(spec, part, tokens, asked):
    language, mark, filler = spec.get("language", "parity"), spec["vocabulary"] - 2, spec["vocabulary"] - 1
    end = tokens.index(mark)
    symbols = tokens[:end]
    expect((part.get("shortest") or part["items"]) <= end <= part["items"], "another number of symbols")
    expect(set(tokens[end + 2:]) <= {filler}, "tokens behind the answer")
    if language == "parity":
        answer = symbols.count(1) % 2
    elif language == "even_pairs":
        answer = sum(a != b for a, b in zip(symbols, symbols[1:])) % 2
    elif language == "cycle_navigation":
        answer = (symbols.count(6) - symbols.count(7)) % 5
    else:
        answer = eval("".join("01234+-*"[symbol] for symbol in symbols)) % 5
    if language in ("parity", "even_pairs"):
        expect(set(symbols) <= {0, 1}, "a symbol that is none")
    yield end + 1, [answer], 0


SOLVERS = {solver.__name__: solver for solver in
           (recall, retrieval, rewrite, copy, selective_copy, induction, ngram, regular_language)}


def check_example(spec, line):
    """Throws Wrong unless a line of `segue tasks --print` is an example of its task, with the right answers."""
    split = next(split for split in spec["splits"] if split["name"] == line["split"])
    part = {"items": 1, **split["parts"][line["part"]]}
    tokens, answers = line["tokens"], line["answers"]
    length = part["length"]
    if line["split"] in ("train", "valid"):
        length = max(other["length"] for other in split["parts"])
        expect(len(set(tokens[part["length"] + 1:])) <= 1, "padding of several tokens")
    expect(len(tokens) == length + 1, f"{len(tokens)} tokens, not {length + 1}")
    expect(all(0 <= token < spec["vocabulary"] for token in tokens), "a token outside the vocabulary")
    tokens = tokens[:part["length"] + 1]
    asked = [answer["at"] for answer in answers]
    solved = sorted(SOLVERS[spec["kind"]](spec, part, tokens, asked))
    expect([at for at, _, _ in solved] == asked, f"answers at {asked}, not {[at for at, _, _ in solved]}")
    for (at, answer, decided_by), said in zip(solved, answers):
        expect(tokens[at:at + len(answer)] == answer, f"at {at} {tokens[at:at + len(answer)]}, not {answer}")
        expect(said["tokens"] == len(answer), f"at {at} an answer of {said['tokens']} tokens, not {len(answer)}")
        expect(said["distance"] == at - decided_by, f"at {at} distance {said['distance']}, not {at - decided_by}")
