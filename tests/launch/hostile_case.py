"""One hostile file: what it is, the command that reads it, how the program has to end, and how such files are made."""

import json
import os
import shutil
import struct

ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m"
LARGE = 2**63 - 1
OK, USAGE, CONFIG, DATA, CHECKPOINT, FILE, DEVICE = 0, 2, 3, 4, 5, 6, 7


class Case:
    def __init__(self, reader, name, command, code, words=(), make=None):
        self.reader, self.name, self.command, self.code, self.words, self.make = reader, name, command, code, words, make


class Place:
    """The directory of a case."""

    def __init__(self, directory, seal):
        self.directory = directory
        self.seal = seal

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))

    def sparse(self, name, length, content=b""):
        self.write(name, content)
        os.truncate(self.path(name), length)

    def copy(self, name):
        source = os.path.join(self.directory, "..", name)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, self.path(name))

    def edit(self, name, change):
        """`change` of the JSON document in a file; returns the new one or edits it in place."""
        with open(self.path(name)) as file:
            document = json.load(file)
        self.write(name, json.dumps(change(document) or document))

    def damage(self, name, change):
        with open(self.path(name), "rb") as file:
            content = file.read()
        self.write(name, change(content))


def put(name, content):
    return lambda place: place.write(name, content)


def kept(key, value):
    def change(document):
        *parents, last = key.split(".")
        for parent in parents:
            document = document[int(parent) if parent.isdigit() else parent]
        document[last] = value
    return change


def made_by(*names_and_steps):
    """Copies, then changes."""
    def make(place):
        for step in names_and_steps:
            place.copy(step) if isinstance(step, str) else step(place)
    return make


def write_header(place, path, header, data=bytes(4)):
    """A safetensors file: its header as JSON, then the bytes of tensors."""
    text = json.dumps(header).encode()
    place.write(path, struct.pack("<Q", len(text)) + text + data)
