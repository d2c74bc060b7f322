"""The programs in benchmarks as their tests call them, and what they write."""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree
from importlib.util import find_spec

from program import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
BUILD = pathlib.Path(sys.argv[2]).resolve()
USAGE = 2
TINY = ["model.n_layer=1", "model.d_model=16", "model.n_head=2", "model.d_head=8", "model.d_inner=16"]
SHORT = ["model.mem_len=8", "training.tgt_len=8", "training.batch_size=2"]
MEASURED = ["--build", BUILD, "--busy-ok", "--threads", "1"]
ONCE = ["--samples", "1", "--sample-seconds", "0"]


def sets(*settings):
    return [word for setting in settings for word in ("--set", setting)]


def call(program, script, *words, expect=0, **environment):
    """Standard output and what it said besides."""
    done = subprocess.run([sys.executable, "-B", BENCHMARKS / script, *map(str, words)], cwd=program.directory, text=True,
                          capture_output=True, env={**program.environment, "PYTHONDONTWRITEBYTECODE": "1", **environment})
    check(done.returncode == expect, f"{script} {' '.join(map(str, words))}\nexit {done.returncode}, expected {expect}\n"
                                     f"{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def read_json(path):
    def refuse(word):
        raise ValueError(f"{path}: {word}")

    return json.loads(pathlib.Path(path).read_text(), parse_constant=refuse)  # neither NaN nor infinite


def results(program, name, *suffixes):
    """What a program wrote: the JSON, after every file has been found to be what its suffix says."""
    for suffix in suffixes:
        path = pathlib.Path(program.path(f"{name}.{suffix}"))
        check(path.is_file(), f"{path}: not written")
        text = path.read_text()
        check(not re.search(r"\bnan\b|\binf\b", text), f"{path}: a number is not finite:\n{text}")
        if suffix == "svg":
            drawing = xml.etree.ElementTree.fromstring(text)
            tags = {element.tag.rpartition("}")[2] for element in drawing.iter()}
            check(drawing.tag.endswith("svg") and {"polyline", "text"} <= tags, f"{path}: {tags}")
        if suffix == "md":
            rows = [line for line in text.splitlines() if line.startswith("|")]
            check(len(rows) >= 3 and str(program.directory) not in text, f"{path}: no table, or where things lie:\n{text}")
    found = sorted(path.name for path in pathlib.Path(program.path(name)).parent.glob(pathlib.Path(name).name + ".*"))
    check(found == sorted(f"{pathlib.Path(name).name}.{suffix}" for suffix in suffixes), f"{name}: wrote {found}")
    return read_json(program.path(f"{name}.json"))


def has(what, *modules):
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        print(f"not run: {what}: this python3 has no {', '.join(missing)}", flush=True)
    return not missing


def peer():
    return ["--python", sys.executable] if find_spec("torch") else ["--no-peer"]


def refused(program, script, words, says, code=None):
    """In one line, whatever parts it says before that it runs."""
    done = subprocess.run([sys.executable, "-B", BENCHMARKS / script, *map(str, words), "--output", "out/refused"], cwd=program.directory,
                          env={**program.environment, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("+ ")]
    check(done.returncode == (code or done.returncode) != 0 and len(lines) == 1 and not done.stdout, f"{script} {words}: {done}")
    check(all(word in lines[0] for word in [pathlib.Path(script).name, *says]), f"{script} {words}: expected {says} in: {lines[0]}")
    check(not list(pathlib.Path(program.directory).glob("out/refused*")), f"{script} {words}: wrote results")
