"""What `cmake --install` installs: its headers compile alone, its example is built with nothing else and scores text as the
program does, in a root that holds nothing else too, and what a user does wrong is told as the program tells it.

The second argument is the build directory, the third a C++ compiler. Without the right to change the root, that part is
skipped.
"""

import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

from bare_root import Root, can_change_root, libraries_of
from program import TINY_MODEL, Program, check

BUILD, COMPILER = sys.argv[2:4]
CONFIG, DATA, CHECKPOINT, FILE = 3, 4, 5, 6
SKIPPED = 77
# Weak symbols of templates that both sides instantiate are no part of what the library shows.
SHOWN = re.compile(r"(?:(?:typeinfo|typeinfo name|vtable) for )?segue::(?:Error|ErrorOf<.*>|OutOfMemoryError|LanguageModel::.*)")
STANDARD = re.compile(r"[a-z_]+")


def run(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    check(done.returncode == expect, f"{command}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


class Installed:
    def __init__(self, prefix):
        self.prefix = pathlib.Path(prefix)
        run("cmake", "--install", BUILD, "--prefix", prefix)
        (self.library,) = (path for path in self.prefix.rglob("libsegue.so.*.*.*") if not path.is_symlink())
        self.example = self.prefix / "share/doc/segue/example"

    def headers(self):
        return sorted((self.prefix / "include/segue").iterdir())

    def build(self, source, folder):
        """Configured and built as in its CMakeLists.txt, with the prefix alone."""
        run("cmake", "-S", source, "-B", folder, "-D", f"CMAKE_PREFIX_PATH={self.prefix}", "-D",
            f"CMAKE_CXX_COMPILER={COMPILER}", "-D", "CMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        run("cmake", "--build", folder)


def test_what_is_installed(program, installed):
    (version,) = re.findall(r"^segue ([\d.]+)", program.run("--version")[0])
    check(installed.library.name == f"libsegue.so.{version}", f"{installed.library.name}, the program is {version}")
    (of_package,) = installed.prefix.rglob("segueConfigVersion.cmake")
    check(f'set(PACKAGE_VERSION "{version}")' in of_package.read_text(), f"{of_package} is not of version {version}")
    for name in ("bin/segue", "share/segue/configs/segue.schema.json", "share/segue/configs/quickstart.json"):
        check((installed.prefix / name).is_file(), f"not installed: {name}")
    check(run(installed.prefix / "bin/segue", "--version") == program.run("--version"), "another program is installed")
    programs = os.listdir(installed.prefix / "bin")
    check(programs == ["segue"], f"programs of the bundle are installed: {programs}")


def test_headers_compile_alone(installed):
    check(len(installed.headers()) >= 3, f"headers: {installed.headers()}")
    for header in installed.headers():
        for included in re.findall(r"#include <(\S+)>", header.read_text()):
            check(included.startswith("segue/") or STANDARD.fullmatch(included), f"{header} includes {included}")
        for standard in ("c++17", "c++20"):
            run(COMPILER, f"-std={standard}", "-x", "c++", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                installed.prefix / "include", "-", input=f"#include <segue/{header.name}>\n")


def test_nothing_else_is_shown(installed):
    listed, _ = run("nm", "--dynamic", "--demangle", "--defined-only", installed.library)
    symbols = [line.split(" ", 2)[2] for line in listed.splitlines()]
    check(any("LanguageModel::score" in symbol for symbol in symbols), f"not shown: score\n{listed}")
    check(any(symbol.startswith("typeinfo for segue::ErrorOf<") for symbol in symbols), f"not shown: types of errors\n{listed}")
    others = [symbol for symbol in symbols if not SHOWN.fullmatch(symbol)]
    check(not others, f"shown: {others}")


def train(program):
    program.prepare_text("data", 6000, seed=1)
    program.write("test.txt", pathlib.Path(program.path("data.txt")).read_text()[5400:].strip())
    program.config("config.json", data={"path": "data"}, model=TINY_MODEL, training={
        "batch_size": 2, "tgt_len": 16, "max_step": 40, "log_interval": 20}, optimizer={"lr": 0.01},
        evaluation={"interval": 0}, checkpoint={"interval": 20})
    program.run("train", "config.json", "--run", "run", "--quiet")
    program.write("letters.txt", "abcdefgh abcdefgh hgfedcba " * 40)
    program.run("prepare", "--tokenizer", "text8", "--input", "letters.txt", "--split", "0.8,0.2", "--output", "letters")
    program.run("train", "config.json", "--set", "data.path=letters", "--set", "training.max_step=1", "--run", "letters-run",
                "--quiet")


def bits_of_program(program, *arguments):
    table = program.run("generate", "--checkpoint", "run", "--score", "test.txt", "--quiet", *arguments)[0]
    return list(csv.reader(io.StringIO(table, newline=""), delimiter="\t"))[1:]


def check_losses_of_words(rows, tokens, first):
    """`rows` as the program has them; `tokens` their bits from token number `first` on."""
    at = 0
    for word, bits, count, _ in rows:
        begin, at = at, at + int(count)
        if begin >= first:
            found = sum(tokens[begin - first:at - first])
            check(math.isclose(float(bits), found, abs_tol=1e-3), f"{word!r}: {found} bits, expected {bits}")
    check(at - first == len(tokens), f"{len(tokens)} tokens, expected {at - first}")


def test_example(program, example):
    output, errors = run(example, "run", "test.txt", cwd=program.directory, env=program.environment)
    check(errors == "", errors)
    bits = [float(number) for number in re.findall(r"^(\d+\.\d{4})\t", output, re.MULTILINE)]
    check_losses_of_words(bits_of_program(program), bits, first=1)
    (per_byte,) = re.findall(r"^(\d+\.\d{4}) bits per byte\n", output, re.MULTILINE)
    check(math.isclose(float(per_byte), sum(bits) / len(bits), abs_tol=1e-3), f"{per_byte} bits per byte")
    return output


class User:
    def __init__(self, program, binary):
        self.program, self.binary = program, binary

    def run(self, *arguments, expect=0):
        return run(self.binary, *arguments, cwd=self.program.directory, env=self.program.environment, expect=expect)

    def lines(self, *arguments):
        """Of the lines' first words and the others; a text may hold line ends."""
        output, errors = self.run(*arguments)
        check(errors == "", errors)
        parts = re.split(r"^(warning|token|sum|sample)\t", output, flags=re.MULTILINE)[1:]
        return [(kind, *text[:-1].split("\t")) for kind, text in zip(parts[::2], parts[1::2])]


def test_context_and_options(program, user):
    text = pathlib.Path(program.path("test.txt")).read_text()
    lines = user.lines("run", "mem_len", 8, "score", text, "abc def ")
    tokens = [float(nats) / math.log(2) for kind, _, nats in lines if kind == "token"]
    check("".join(line[1] for line in lines if line[0] == "token") == text, "the tokens are not the text's")
    rows = bits_of_program(program, "--prompt", "abc def ", "--mem-len", 8)
    check_losses_of_words(rows, tokens, first=0)
    check(math.isclose(float(lines[-1][1]), sum(tokens) * math.log(2), rel_tol=1e-6), f"the sum: {lines[-1]}")
    check(math.isclose(float(lines[-1][2]), sum(tokens) / len(text), rel_tol=1e-6), f"bits per byte: {lines[-1]}")
    check([row[1] for row in rows] != [row[1] for row in bits_of_program(program, "--prompt", "abc def ")],
          "mem_len changes nothing")


def test_generated_text(program, user):
    program.run("generate", "--checkpoint", "run", "--prompt", "abc ", "--tokens", 40, "--samples", 3, "--seed", 7, "--top-p",
                0.9, "--stop", "e", "--json", "samples.json", "--quiet")
    with open(program.path("samples.json")) as file:
        expected = [("sample", s["text"], str(s["tokens"]), str(int(s["stopped"]))) for s in json.load(file)["samples"]]
    found = user.lines("run", "tokens", 40, "samples", 3, "seed", 7, "top_p", 0.9, "stop", "e", "generate", "abc ")
    check(found == expected, f"{found}, expected {expected}")


def cut_off(program):
    """A run whose last checkpoint lacks its last byte, and that checkpoint."""
    shutil.copytree(program.path("run"), program.path("cut-run"), symlinks=True)
    checkpoint = pathlib.Path(program.path("cut-run/checkpoints/step-00000040"))
    weights = checkpoint / "weights.safetensors"
    os.truncate(weights, weights.stat().st_size - 1)
    return "cut-run/checkpoints/step-00000040"


def test_errors_of_the_program(program, example):
    """Word for word, and with its exit codes."""
    damaged = cut_off(program)
    program.write("unknown.txt", "abcz")
    program.write("empty.txt", "")
    os.mkdir(program.path("no-run"))
    for code, checkpoint, text in ((CHECKPOINT, "absent", "test.txt"), (CHECKPOINT, "no-run", "test.txt"),
                                   (CHECKPOINT, "config.json", "test.txt"), (CHECKPOINT, damaged, "test.txt"),
                                   (DATA, "letters-run", "unknown.txt"), (DATA, "run", "empty.txt")):
        _, expected = program.run("generate", "--checkpoint", checkpoint, "--score", text, "--quiet", expect=code)
        _, found = run(example, checkpoint, text, cwd=program.directory, env=program.environment, expect=code)
        check(len(found.splitlines()) == 1, f"expected one line, found:\n{found}")
        check(found.removeprefix("score_text: ") == expected.removeprefix("segue: "), f"{found}expected {expected}")
    _, found = run(example, "run", "absent.txt", cwd=program.directory, env=program.environment, expect=FILE)
    check(found == "score_text: absent.txt: cannot open: No such file or directory\n", found)


def test_types_of_errors(user):
    def refuse(code, kind, *arguments, says):
        _, errors = user.run(*arguments, expect=code)
        check(errors.startswith(kind + "\t") and len(errors.splitlines()) == 1, f"expected one {kind}, found:\n{errors}")
        for word in says:
            check(word in errors, f"{arguments}: expected {word!r} in: {errors}")

    score = ("score", "abc")
    refuse(CHECKPOINT, "CheckpointError", "absent", *score, says=["absent"])
    refuse(DATA, "DataError", "letters-run", "score", "abz", says=["text: ", "0x7a", "vocabulary"])
    refuse(DATA, "DataError", "letters-run", "score", "abc", "abz", says=["context: ", "0x7a", "vocabulary"])
    refuse(DATA, "DataError", "run", "score", "", "abc", says=["text: ", "at least one token"])
    refuse(DATA, "DataError", "letters-run", "generate", "abz", says=["prompt: ", "0x7a", "vocabulary"])
    refuse(CONFIG, "ConfigError", "run", "mem_len", -3, *score, says=["mem_len: expected an integer >= 0 and <= 1048576", "found -3"])
    refuse(CONFIG, "ConfigError", "run", "same_length", "true", "mem_len", 0, *score, says=["mem_len: expected at least 1"])
    refuse(CONFIG, "ConfigError", "run", "set", "model.mem_len=3", "mem_len", 3, *score, says=["mem_len and set model.mem_len"])
    refuse(CONFIG, "ConfigError", "run", "set", "model.n_layer=3", *score, says=["set model.n_layer=3", "how weights are used"])
    refuse(CONFIG, "ConfigError", "run", "device", "gpu", *score, says=["device: expected", '"gpu"'])
    refuse(CONFIG, "ConfigError", "run", "threads", -1, *score, says=["threads: expected an integer >= 0 and <= 4096, found -1"])
    refuse(CONFIG, "ConfigError", "run", "samples", 0, "generate", "a", says=["samples: expected an integer >= 1 and <= 32768, found 0"])
    refuse(CONFIG, "ConfigError", "run", "top_p", 2, "generate", "a", says=["top_p: expected a number > 0 and <= 1, found 2"])


def test_warnings(user):
    lines = user.lines("cut-run", "score", "abc")
    check(lines[0][0] == "warning" and "weights.safetensors" in lines[0][1], f"no warning of a damaged checkpoint: {lines}")


def test_in_a_bare_root(program, installed, example, expected):
    root = Root(program.path("root"), "/work")
    for library in libraries_of(example):
        if not library.startswith(str(installed.prefix)):
            root.add(library)
    for source, target in ((installed.library, f"lib/{installed.library.name}"), (example, "bin/score_text"),
                           (program.path("test.txt"), "test.txt")):
        path = root.path / "work" / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
    (name,) = {line.split()[0] for line in run("ldd", example)[0].splitlines() if "libsegue.so" in line}
    (root.path / "work/lib" / name).symlink_to(installed.library.name)
    shutil.copytree(program.path("run"), root.path / "work/run", symlinks=True)
    found = root.run("bin/score_text run test.txt", LD_LIBRARY_PATH="/work/lib", OMP_NUM_THREADS="1")
    check(found == (expected, ""), f"in a bare root:\n{found[0]}{found[1]}expected\n{expected}")


def main():
    program = Program()
    installed = Installed(program.path("prefix"))
    test_what_is_installed(program, installed)
    test_headers_compile_alone(installed)
    test_nothing_else_is_shown(installed)
    os.mkdir(program.path("example"))
    shutil.copytree(installed.example, program.path("example/source"))
    installed.build(program.path("example/source"), program.path("example/build"))
    example = program.path("example/build/score_text")
    library = installed.library.parent
    run(COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", installed.prefix / "include",
        pathlib.Path(__file__).with_name("library_user.cc"), "-L", library, "-lsegue", f"-Wl,-rpath,{library}", "-o",
        program.path("library_user"))
    user = User(program, program.path("library_user"))
    train(program)
    output = test_example(program, example)
    test_context_and_options(program, user)
    test_generated_text(program, user)
    test_errors_of_the_program(program, example)
    test_types_of_errors(user)
    test_warnings(user)
    if not can_change_root():
        print("skipped: this user may not change the root")
        sys.exit(SKIPPED)
    test_in_a_bare_root(program, installed, example, output)
    print("library_test: passed")


if __name__ == "__main__":
    main()
