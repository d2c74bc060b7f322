"""Extensions: the example is built with what `cmake --install` installs and nothing else, trains, resumes to the bit,
evaluates and generates, by one process and by two. What is wrong with a file of an extension is told before anything of it
runs, and nothing but the flag loads one.

The second argument is the build directory, the third a C++ compiler.
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

from job import Job, check_close, losses
from program import TINY_MODEL, check, check_same_run, evaluate, refused

BUILD, COMPILER = sys.argv[2:4]
USAGE, CONFIG, CHECKPOINT, FILE = 2, 3, 5, 6
CURE = "--extension FILE"
GIVEN = ("--extension", "./fast_weights.so")
KIND = {"kind": "fast_weights", "key_width": 6}


def run(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    check(done.returncode == expect, f"{command}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def build_example(program):
    """As its CMakeLists.txt says, in a tree that was moved to its place as a package is."""
    stage = program.path("stage")
    run("cmake", "--install", BUILD, "--prefix", "/usr", "--component", "extension", env=dict(os.environ, DESTDIR=stage))
    prefix = pathlib.Path(program.path("prefix"))
    os.rename(pathlib.Path(stage) / "usr", prefix)
    shutil.copytree(prefix / "share/doc/segue/extension_example", program.path("source"))
    check((prefix / "include/segue_extension/core/extension/extension.h").is_file(), "no headers of extensions")
    run("cmake", "-S", program.path("source"), "-B", program.path("build"), "-D", f"CMAKE_PREFIX_PATH={prefix}", "-D",
        f"CMAKE_CXX_COMPILER={COMPILER}", "-D", "CMAKE_BUILD_TYPE=Release", "-D",
        "CMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    run("cmake", "--build", program.path("build"))
    (depends,) = pathlib.Path(program.path("build")).rglob("fast_weights.cc.o.d")
    of_checkout = str(pathlib.Path(__file__).resolve().parents[2])
    check(of_checkout not in depends.read_text(), f"the example includes headers of {of_checkout}")
    shutil.copy(program.path("build/fast_weights.so"), program.path("fast_weights.so"))
    return prefix


def write_config(program, name="config.json", memory=None, **more):
    program.config(name, data={"path": "data"}, model=dict(TINY_MODEL, memory=memory or KIND, **more), training={
        "batch_size": 2, "tgt_len": 16, "segments_per_step": 2, "max_step": 12, "log_interval": 1}, optimizer={"lr": 0.01},
        schedule={"kind": "constant"},
        evaluation={"interval": 6}, checkpoint={"interval": 4})


def loaded_libraries(program, *arguments):
    """What the system opened while the program ran."""
    trace = program.path("trace.txt")
    environment = dict(program.environment, LD_DEBUG="files", LD_DEBUG_OUTPUT=trace)
    subprocess.run([program.binary, *arguments], cwd=program.directory, env=environment, capture_output=True, check=False)
    texts = [path.read_text(errors="replace") for path in pathlib.Path(program.directory).glob("trace.txt.*")]
    for path in pathlib.Path(program.directory).glob("trace.txt.*"):
        path.unlink()
    check(any("libc.so" in text for text in texts), "nothing was traced")
    return "\n".join(texts)


def test_training(program):
    write_config(program)
    program.run("train", "config.json", "--run", "whole", "--quiet", *GIVEN)
    program.run("train", "config.json", "--run", "parts", "--quiet", "--set", "training.max_step=8", *GIVEN)
    program.run("train", "config.json", "--run", "parts", "--resume", "--quiet", *GIVEN)
    check_same_run(program.path("whole"), program.path("parts"), 12, "resumed", ended_at=8)
    with open(program.path("whole/checkpoints/step-00000012/model.json")) as file:
        stored = json.load(file)
    check(stored["extension"] == "fast_weights", f"model.json names {stored.get('extension')}")
    check(stored["model"]["memory"] == {"kind": "fast_weights", "initial": "empty", "key_width": 6},
          f"model.json says {stored['model']['memory']}")
    told, _ = program.run("inspect", "whole", *GIVEN)
    check("fast weights of every layer" in told, told)


def test_kind_matters(program):
    """Its keys say what the model is; its weights learn; what it remembers changes losses."""
    narrow, _ = program.run("inspect", "config.json", "--json", *GIVEN)
    wide, _ = program.run("inspect", "config.json", "--json", "--set", "model.memory.key_width=7", *GIVEN)
    of_width = 2 * TINY_MODEL["n_layer"] * TINY_MODEL["n_head"] * TINY_MODEL["d_model"]
    counts = [json.loads(text)["model"]["parameters"]["all"] for text in (narrow, wide)]
    check(counts[1] - counts[0] == of_width, f"a column of keys makes {counts[1] - counts[0]} parameters, expected {of_width}")
    through = ("--checkpoint", "whole", "--batch-size", "1", "--warm-up", "0", *GIVEN)
    remembers = evaluate(program, *through)
    forgets = evaluate(program, "--checkpoint", "whole", "--recompute", "--tgt-len", "16", "--stride", "16", *GIVEN)
    check(remembers["loss"] != forgets["loss"], "memory changes no loss")
    as_trained = evaluate(program, *through, "--memory", "as_trained")
    check(abs(as_trained["loss"] - remembers["loss"]) < 1e-4,
          f"as trained {as_trained['loss']}, with a KV cache {remembers['loss']}")


def test_other_commands(program):
    text, _ = program.run("generate", "--checkpoint", "whole", "--prompt", "abc ", "--tokens", 20, "--quiet", *GIVEN)
    check(len(text) > 4, f"generated {text!r}")
    program.run("bench", "step", "config.json", "--vocab-size", 40, "--threads", 1, "--samples", 1, "--warm-up", 0, "--sample-seconds", 0,
                "--peak-product", 64, "--copy-bytes", 4096, *GIVEN)
    schema = json.loads(program.run("schema", *GIVEN)[0])["properties"]["model"]["properties"]["memory"]["properties"]
    check(schema["key_width"]["x-kinds"] == ["fast_weights"], f"the schema says {schema.get('key_width')}")
    check("fast_weights" in schema["kind"]["enum"], f"the schema has kinds {schema['kind']}")
    program.run("report", "whole", "--output", "page.html", *GIVEN)
    check("fast_weights" in pathlib.Path(program.path("page.html")).read_text(), "the page does not name the kind")


def test_ranks(program):
    if not shutil.which("mpirun"):
        return
    program.train(2, "ranks", *GIVEN)
    check_close(losses(program.path("ranks")), losses(program.path("whole")), 1e-3, "two ranks")
    _, errors = program.run_ranks(3, "train", "config.json", "--run", "none", "--extension", "none.so", expect=FILE)
    said = [line for line in errors.splitlines() if line.startswith("segue: ")]
    check(len(said) == 1 and "none.so" in said[0], f"three ranks without the extension: {errors}")


def test_keys_are_strict(program):
    unknown = ("train", "config.json", "--run", "no", "--quiet", *GIVEN)
    refused(program, CONFIG, *unknown, "--set", "model.memory.key_widht=3", says=["model.memory.key_widht", "key_width"],
            leaves_nothing_at="no-")
    refused(program, CONFIG, *unknown, "--set", "model.memory.key_width=0",
            says=["model.memory.key_width: expected an integer >= 1 and <= 256, found 0"])
    refused(program, CONFIG, *unknown, "--set", "model.memory.tokens=3", says=["model.memory.tokens", "fast_weights"])
    refused(program, CONFIG, *unknown, "--set", "model.memory.kind=tokens", says=["model.memory.key_width", '"fast_weights"'])
    refused(program, CONFIG, *unknown, "--set", "data.document_boundary=.", says=["document_boundary", "fast_weights"])


def test_missing(program):
    """Named with its cure, and nothing is loaded, whatever lies where a loader might look."""
    refused(program, CONFIG, "train", "config.json", "--run", "no", "--quiet", says=["model.memory.kind", "fast_weights", CURE])
    for arguments in (("eval", "--checkpoint", "whole", "--output", "no"), ("generate", "--checkpoint", "whole", "--prompt", "a"),
                      ("inspect", "whole"), ("export", "--checkpoint", "whole", "--output", "no.safetensors")):
        refused(program, CHECKPOINT, *arguments, says=["model.json: extension", '"fast_weights"', CURE])
    refused(program, CONFIG, "train", "--run", "whole", "--resume", says=["fast_weights", CURE])
    checkpoint = pathlib.Path(program.path("whole/checkpoints/step-00000012"))
    for place in (checkpoint, pathlib.Path(program.directory), checkpoint.parent.parent):
        for name in ("fast_weights", "fast_weights.so", "libfast_weights.so"):
            if not (place / name).exists():
                shutil.copy(program.path("fast_weights.so"), place / name)
    program.environment["LD_LIBRARY_PATH"] = program.directory
    for name in ("SEGUE_EXTENSION", "SEGUE_EXTENSIONS", "EXTENSION"):
        program.environment[name] = program.path("fast_weights.so")
    for arguments in (("eval", "--checkpoint", "whole"), ("train", "config.json", "--run", "no"), ("inspect", "whole"),
                      ("inspect", "data"), ("generate", "--checkpoint", "whole", "--prompt", "a")):
        check("fast_weights" not in loaded_libraries(program, *arguments), f"{arguments} loaded the extension")
    check("fast_weights" in loaded_libraries(program, "inspect", "whole", *GIVEN), "the trace does not tell what is loaded")
    for name in ("LD_LIBRARY_PATH", "SEGUE_EXTENSION", "SEGUE_EXTENSIONS", "EXTENSION"):
        program.environment.pop(name)


def test_no_file_loads_one(program):
    """`extension` is a flag, and no key of anything that a file says."""
    path = program.path("fast_weights.so")
    program.config("key.json", data={"path": "data"}, extension=path, model=dict(TINY_MODEL, memory=KIND))
    refused(program, CONFIG, "train", "key.json", "--run", "no", says=["key.json: "])
    program.config("key.json", data={"path": "data"}, extension=path)
    refused(program, CONFIG, "train", "key.json", "--run", "no", says=["key.json: extension: unknown key"])
    refused(program, CONFIG, "train", "config.json", "--run", "no", "--set", f"extension={path}", says=["extension"])
    program.config("key.json", data={"path": "data"}, model=dict(TINY_MODEL, memory=dict(KIND, extension=path)))
    refused(program, CONFIG, "train", "key.json", "--run", "no", *GIVEN, says=["model.memory.extension: unknown key"])
    program.config("evaluation.json", checkpoint="whole", extension=[path])
    refused(program, CONFIG, "eval", "--config", "evaluation.json", says=["evaluation.json: extension"])
    check("fast_weights" not in loaded_libraries(program, "eval", "--config", "evaluation.json"), "a file loaded it")


def test_search_paths_count_for_nothing(program):
    """A name without a slash is a file here."""
    os.mkdir(program.path("elsewhere"))
    os.rename(program.path("fast_weights.so"), program.path("elsewhere/only_there.so"))
    program.environment["LD_LIBRARY_PATH"] = program.path("elsewhere")
    refused(program, FILE, "inspect", "config.json", "--extension", "only_there.so", says=["only_there.so"])
    del program.environment["LD_LIBRARY_PATH"]
    os.rename(program.path("elsewhere/only_there.so"), program.path("fast_weights.so"))
    program.run("inspect", "config.json", "--extension", "fast_weights.so")


def compile_library(program, name, source, *more):
    program.write(name + ".cc", source)
    run(COMPILER, "-shared", "-fPIC", program.path(name + ".cc"), "-o", program.path(name), *more)
    return name


def stamped(program, name, stamp, body=""):
    """A library that says it ran, if it runs."""
    text = stamp.replace("\n", "\\n")
    return compile_library(program, name, f"""
#include <cstdio>
extern "C" __attribute__((section(".segue_extension"), used, visibility("default"))) const char stamp[] = "{text}";
struct Runs {{ Runs() {{ std::puts("code of {name} ran"); }} }} runs;
{body}
""")


def refuse_file(program, code, name, *says, runs=False):
    output, errors = program.run("inspect", "config.json", "--extension", name, expect=code)
    check(len(errors.splitlines()) == 1, f"{name}: expected one line, found:\n{errors}")
    for word in (name, *says):
        check(word in errors, f"{name}: expected {word!r} in: {errors}")
    check(("ran" in output) == runs, f"{name}: printed {output!r}")


def test_wrong_files(program):
    with open(program.path("fast_weights.so"), "rb") as file:
        good = file.read()
    found = re.search(rb"segue extension fast_weights\n[^\0]*\n\0", good)
    check(found, "no stamp in the example")
    stamp = found.group()[:-1].decode()
    refuse_file(program, FILE, "absent.so", "No such file")
    refuse_file(program, FILE, "data", "directory")
    program.write("text.so", "not a library")
    refuse_file(program, CONFIG, "text.so", "expected an extension, a shared library for x86-64, found another file")
    program.write("empty.so", b"")
    refuse_file(program, CONFIG, "empty.so", "another file")
    program.write("machine.so", good[:18] + struct.pack("<H", 183) + good[20:])
    refuse_file(program, CONFIG, "machine.so", "another machine")
    shutil.copy(program.binary, program.path("program"))
    refuse_file(program, CONFIG, "program", "stamp")
    refuse_file(program, CONFIG, compile_library(program, "plain.so", "int answer() { return 42; }"), "without the stamp")
    other = stamp.replace("headers ", "headers f")
    refuse_file(program, CONFIG, stamped(program, "other.so", other), "is built for", "headers f", "build it again")
    for number, wrong in enumerate((stamp.replace("fast_weights", "../x"), stamp.replace("fast_weights", ""), "segue", "",
                                    stamp[:-1], stamp * 20, stamp.replace("fast_weights", "x" * 65))):
        refuse_file(program, CONFIG, stamped(program, f"wrong{number}.so", wrong), "without the stamp")
    # What runs is what its user trusts, and it is told when it does not do its part.
    refuse_file(program, CONFIG, stamped(program, "idle.so", stamp), "segue_extension_add", runs=True)
    refuse_file(program, CONFIG, stamped(program, "unresolved.so", stamp, "extern int nowhere(); int found = nowhere();"),
                "cannot load", "nowhere")
    cut_files(program, good)


def cut_files(program, good):
    """Whatever is damaged is refused or, where the damage is of no part that is read, loaded: it never ends otherwise."""
    header = struct.unpack_from("<16sHHIQQQIHHHHHH", good)
    sections, count, names = header[6], header[12], header[13]
    for number, size in enumerate((1, 63, 64, 65, sections - 1, sections + 1, len(good) - 1, len(good) // 2)):
        name = f"cut{number}.so"
        program.write(name, good[:size])
        refuse_file(program, CONFIG, name, "expected an extension")
    changed = {"offset": (40, "<Q", (1 << 64) - 1), "far": (40, "<Q", 1 << 40), "size": (58, "<H", 1), "count": (60, "<H", 65535),
               "none": (60, "<H", 0), "names": (62, "<H", count), "past": (62, "<H", 65535), "kind": (16, "<H", 2)}
    for section in (names, next_stamp(good, sections, count, names)):
        at = sections + section * 64
        for field, offset, form in (("name", 0, "<I"), ("type", 4, "<I"), ("at", 24, "<Q"), ("bytes", 32, "<Q")):
            for value in (0, (1 << 32) - 1 if form == "<I" else (1 << 64) - 1):
                changed[f"{section}{field}{value}"] = (at + offset, form, value)
    for number, (offset, form, value) in enumerate(changed.values()):
        name = f"changed{number}.so"
        damaged = bytearray(good)
        struct.pack_into(form, damaged, offset, value)
        program.write(name, bytes(damaged))
        _, errors = program.run("inspect", "config.json", "--extension", name, expect=None)
        check(errors == "" or len(errors.splitlines()) == 1 and "expected an extension" in errors, f"{name}: {errors}")


def next_stamp(good, sections, count, names):
    (table,) = struct.unpack_from("<Q", good, sections + names * 64 + 24)
    for section in range(count):
        (name,) = struct.unpack_from("<I", good, sections + section * 64)
        if good[table + name:].startswith(b".segue_extension\0"):
            return section
    sys.exit("failed: no section of the stamp")


ADDING = """
#include "core/extension/extension.h"
using namespace segue;
static constexpr MemoryRow kRow{%s};
static constexpr ModelMemoryRow kInModel{};
static constexpr KeptMemoryRow kKept{};
SEGUE_EXTENSION(%s, kinds) {
  kinds.add({.word = "%s", .meaning = "nothing", .row = kRow, .in_model = kInModel, .kept = kKept});
}
"""
TAKING = """.describe = [](MemoryConfig& memory, JsonFields& fields) {
  constexpr OwnOption<bool> kOwn{"%s", false};
  fields.optional("%s", memory.own[kOwn], {.meaning = "one"%s});
}"""


def test_names_are_taken_once(program, prefix):
    def build(file, extension, word, row=""):
        return compile_library(program, file, ADDING % (row, extension, word), "-std=c++20", "-I",
                               prefix / "include/segue_extension")

    output, errors = program.run("inspect", "config.json", *GIVEN, *GIVEN, expect=CONFIG)
    check("fast_weights.so" in errors and '"fast_weights" again' in errors and output == "", errors)
    build("known.so", "known", "tokens")
    _, errors = program.run("inspect", "config.json", "--extension", "known.so", expect=CONFIG)
    check('"tokens", which Segue has' in errors and len(errors.splitlines()) == 1, errors)
    build("same.so", "same", "fast_weights")
    _, errors = program.run("inspect", "config.json", *GIVEN, "--extension", "same.so", expect=CONFIG)
    check('which extension "fast_weights" has' in errors, errors)
    build("key.so", "key", "keyed", TAKING % ("tokens", "tokens", ', .kinds = Kinds(memory_kind_named("keyed"))'))
    _, errors = program.run("inspect", "config.json", "--extension", "key.so", expect=CONFIG)
    check("model.memory.tokens: expected a key that no kind has" in errors, errors)
    build("open.so", "open", "opened", TAKING % ("mine", "mine", ""))
    _, errors = program.run("inspect", "config.json", "--extension", "open.so", expect=CONFIG)
    check("model.memory.mine: " in errors and "other kinds read" in errors, errors)
    build("beside.so", "beside", "beside")
    program.run("inspect", "config.json", *GIVEN, "--extension", "beside.so")


def main():
    program = Job()
    prefix = build_example(program)
    program.prepare_text("data", 6000, seed=1)
    test_training(program)
    test_kind_matters(program)
    test_other_commands(program)
    test_ranks(program)
    test_keys_are_strict(program)
    test_no_file_loads_one(program)
    test_search_paths_count_for_nothing(program)
    test_wrong_files(program)
    test_names_are_taken_once(program, prefix)
    test_missing(program)
    print("extension_test: passed")


if __name__ == "__main__":
    main()
