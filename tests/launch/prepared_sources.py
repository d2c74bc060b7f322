"""`segue prepare` of sources, and what came of it: shared by the tests of sources and of documents in them."""

import json
import subprocess
import sys
import time

from program import Program, check

DATA, USAGE, IO = 4, 2, 6
TEXT = ("It was a bright day, naïve and cold; the clocks struck thirteen.\n" * 4000).encode()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def lines(*documents):
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def prepare(program, *arguments, stdin=None):
    """Exit code and lines of standard error."""
    done = subprocess.run([program.binary, "prepare", "--output", "data", "--force", *map(str, arguments)], input=stdin,
                          cwd=program.directory, capture_output=True, env=program.environment, timeout=60)
    return done.returncode, done.stderr.decode(errors="replace")


def manifest(program):
    with open(program.path("data", "manifest.json")) as file:
        return json.load(file)


def shards(program):
    """Checksums of the tokens, which are those of the text for bytes."""
    return [(split["name"], split["tokens"], [shard["checksum"] for shard in split["shards"]])
            for split in manifest(program)["splits"]]


def prepared(program, *arguments, stdin=None):
    code, errors = prepare(program, *arguments, stdin=stdin)
    check(code == 0, f"prepare {arguments}: exit {code}\n{errors}")
    return shards(program)


def warnings(program, *arguments):
    code, errors = prepare(program, *arguments, "--quiet")
    check(code == 0, f"prepare {arguments}: exit {code}\n{errors}")
    return errors


def run_each(tests):
    """In one directory, one after the other."""
    program = Program()
    for test in tests:
        began = time.monotonic()
        test(program)
        print(f"{test.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)
