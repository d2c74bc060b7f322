#!/usr/bin/env python3
"""Fails when a document names what is not there: a link, an anchor, a path, a key, or a flag of a command. Likewise when a
page of docs/kinds has other headings than its neighbours, or their list lacks a page or a kind.

check_docs.py ROOT [PROGRAM]: the repository, and the program whose --help tells the flags of its commands; without one,
commands are not looked at.
"""

import collections
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys

# Top folders that are made by using the repository.
MADE = {"build", "data", "runs"}
# Documents whose commands are what a person types.
COMMANDS_IN = ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/kinds/*.md", "configs/README.md", "benchmarks/README.md",
               "launch/cluster/README.md"]
# What every page about a kind says, in this order, and where they are listed.
HEADINGS_OF_KINDS = ["What it is", "When to use it", "Config", "Cost and bytes", "Limits", "Results", "Source"]
LIST_OF_KINDS = "docs/kinds/README.md"
# Words that stand for what a person puts there.
PLACEHOLDER = re.compile(r"NAME|DATE|CONFIG|RUN|SEED|[<>@]")
PATH = re.compile(r"[\w.-]+(/[\w.*-]+)+/?")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z0-9-]*")
ENDS_COMMAND = {"|", "||", "&&", ";", "&"}


MADE_BY_PROGRAM = "docs/reference.md"  # out of its own flags and keys


class Document:
    """A file of Markdown: its prose and its blocks of code as numbered lines, and the anchors of its headings."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.prose, self.code, self.anchors = [], [], set()
        fenced, before = False, ""
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), start=1):
            is_fence = line.startswith("```")
            in_block = fenced or line.startswith("    ") and (not before.strip() or before.startswith("    "))
            if is_fence:
                fenced = not fenced
            elif in_block:
                self.code.append((number, line.strip()))
            else:
                self.prose.append((number, line))
            before = line
        self._find_anchors()

    def _find_anchors(self):
        found = collections.Counter()
        for _, line in self.prose:
            if heading := re.match(r"#+ +(.*)", line):
                words = re.sub(r"[^\w\- ]", "", LINK.sub("", heading[1]).lower()).strip().replace(" ", "-")
                self.anchors.add(words if found[words] == 0 else f"{words}-{found[words]}")
                found[words] += 1

    def commands(self):
        """Command lines with the numbers of their first lines, those in blocks joined where they go on."""
        for number, line in self.prose:
            yield from ((number, code) for code in CODE.findall(line) if re.match(r"(mpirun .*)?segue ", code))
        begun = None
        for number, line in self.code:
            first, text = begun or (number, "")
            text += line
            begun = (first, text[:-1]) if text.endswith("\\") else None
            if begun is None:
                yield first, text


class Repository:
    """What documents may name."""

    def __init__(self, root, program):
        self.root, self.program = root, program
        self.folders = {entry.name for entry in root.iterdir() if entry.is_dir()} - MADE - {".git"}
        paths = (path.relative_to(root) for path in root.rglob("*.md"))
        self.documents = {path.as_posix(): Document(root, path.as_posix()) for path in sorted(paths)
                          if len(path.parts) == 1 or path.parts[0] in self.folders}

    def has(self, path, beside=""):
        """Whether the path, which may have wildcards, is there; a config may be named without its ending."""
        return any(any(self.root.glob(str(pathlib.PurePosixPath(folder, name))))
                   for folder in {"", beside} for name in (path, path + ".json"))

    def is_ours(self, path, beside):
        if not PATH.fullmatch(path):  # such as an expression, which may be longer than a path can be
            return False
        top = path.split("/")[0]
        return top in self.folders or top not in MADE and (self.root / beside / top).is_dir()

    @functools.cache
    def flags_of(self, *command):
        """The flags of a command of the program, or None when there is no such command."""
        done = subprocess.run([self.program, *command, "--help"], capture_output=True, text=True)
        options = re.findall(r"(?m)^  (-.*?)(?:  |$)", done.stdout)  # without what they mean, and without examples
        return set(FLAG.findall(" ".join(options))) if done.returncode == 0 else None

    @functools.cache
    def keys(self, command=""):
        """The keys of a config, or of what else the command reads; those of an element of a list as list[]."""
        def below(schema, path):
            for key, node in schema.get("properties", {}).items():
                yield path + key
                yield from below(node, f"{path}{key}.")
                if "items" in node:
                    yield f"{path}{key}[]"
                    yield from below(node["items"], f"{path}{key}[].")
        schema = self.root / "configs" / ("tasks.schema.json" if command == "tasks" else "segue.schema.json")
        return set(below(json.loads(schema.read_text(encoding="utf-8")), ""))


def link_problem(repository, document, target):
    """What is wrong with a link, or None."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    file = (document.root / document.path).parent / path if path else document.root / document.path
    if not file.exists():
        return f"links to {target}, which is not there"
    if anchor:
        name = file.resolve().relative_to(document.root.resolve()).as_posix()
        if anchor not in getattr(repository.documents.get(name), "anchors", ()):
            return f"links to {target}: {name} has no such heading"
    return None


def prose_problems(repository, document):
    """Links, anchors, and paths in backticks."""
    beside = pathlib.PurePosixPath(document.path).parent.as_posix()
    for number, line in document.prose:
        for target in LINK.findall(CODE.sub("", line)):
            if problem := link_problem(repository, document, target):
                yield number, problem
        for code in CODE.findall(line):
            path = code.split()[0] if code.split() else ""
            if PLACEHOLDER.search(path) or not repository.is_ours(path, beside) or repository.has(path, beside):
                continue
            yield number, f"names {path}, which is not there"


def kinds_of(repository):
    """The words of every axis of a model that has several."""
    axes = json.loads((repository.root / "configs/segue.schema.json").read_text(encoding="utf-8"))
    for axis in axes["properties"].get("model", {}).get("properties", {}).values():
        words = axis.get("properties", {}).get("kind", {}).get("enum", [])
        yield from words if len(words) > 1 else []


def problems_of_kinds(repository):
    """What pages about kinds lack, or their list."""
    if LIST_OF_KINDS not in repository.documents:
        return
    prose = "\n".join(line for _, line in repository.documents[LIST_OF_KINDS].prose)
    yield from (f"{LIST_OF_KINDS}: names no kind {word}" for word in kinds_of(repository) if f"`{word}`" not in prose)
    for name, document in repository.documents.items():
        if not name.startswith("docs/kinds/") or name == LIST_OF_KINDS:
            continue
        if f"]({pathlib.PurePosixPath(name).name})" not in prose:
            yield f"{LIST_OF_KINDS}: has no link to {name}"
        headings = [line[3:] for _, line in document.prose if line.startswith("## ")]
        if headings != HEADINGS_OF_KINDS:
            yield f"{name}: has the headings {headings}, expected {HEADINGS_OF_KINDS}"


def words_of(line):
    """The words of a shell's command line; of one that is none, nothing."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError:
        return []


def arguments_of(words, at):
    """The words behind the one at `at` that belong to it."""
    end = next((i for i in range(at, len(words)) if words[i] in ENDS_COMMAND), len(words))
    return words[at + 1:end]


def flags_in(arguments):
    return [argument.split("=")[0] for argument in arguments if re.match(r"--?[a-z]", argument)]


def program_problems(repository, arguments):
    """What is wrong with the arguments of the program."""
    depth = 2 if arguments[:1] == ["bench"] else 1
    command = [argument for argument in arguments[:depth] if not argument.startswith("-")]
    if any(word.isupper() for word in command):
        return
    allowed = repository.flags_of(*command)
    if allowed is None:
        yield f"there is no command {' '.join(['segue', *command])}"
        return
    yield from (f"{' '.join(['segue', *command])} has no {flag}" for flag in flags_in(arguments) if flag not in allowed)
    for flag, value in zip(arguments, arguments[1:]):
        if flag == "--set" and re.sub(r"\[\d+\]", "[]", value.split("=")[0]) not in repository.keys(*command[:1]):
            yield f"no key of a config is called {value.split('=')[0]}"


def command_problems(repository, line):
    """What is wrong with a command line."""
    words = [re.sub(r"\$\w+|\$\{\w+\}", "*", word) if word != "$segue" else "segue" for word in words_of(line)]
    ours = [word for word in words if not PLACEHOLDER.search(word) and repository.is_ours(word, ".")]
    yield from (f"names {word}, which is not there" for word in ours if not repository.has(word))
    if "segue" in words:
        yield from program_problems(repository, arguments_of(words, words.index("segue")))
    elif ours and ours[0] == words[0] and (script := repository.root / ours[0]).is_file():
        text = script.read_text(encoding="utf-8")
        yield from (f"{ours[0]} has no {flag}" for flag in flags_in(arguments_of(words, 0)) if flag not in text)


def problems_under(root, program=None):
    """Every problem of every document, as lines that begin with where it is."""
    repository = Repository(root, program)
    found = []
    for name, document in repository.documents.items():
        found += [f"{name}:{number}: {problem}" for number, problem in prose_problems(repository, document)]
        if program and name != MADE_BY_PROGRAM and any(pathlib.PurePosixPath(name).match(pattern) for pattern in COMMANDS_IN
                           if name.count("/") == pattern.count("/")):
            found += [f"{name}:{number}: {problem}" for number, line in document.commands()
                      for problem in command_problems(repository, line)]
    return found + list(problems_of_kinds(repository))


if __name__ == "__main__":
    complaints = problems_under(pathlib.Path(sys.argv[1]), *sys.argv[2:3])
    print("\n".join(complaints) or "every link, path, key and flag in the documents is there")
    sys.exit(1 if complaints else 0)
