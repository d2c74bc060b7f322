"""Every command line of the pages, as it stands there: run in a small world, or listed with the test that proves it.

The world is small, not the command: configs are the repository's with tiny models and few steps, texts and weights
have the names that the pages use. A command must end with 0 and make what it names. What a page shows of a config, as
JSON, is trained with for some steps, and a comparison's runs are counted. The arguments are the program, the build
directory and, to check some pages alone, their names.
"""

import concurrent.futures
import functools
import glob
import gzip
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time

from fake_torch import save_archive, save_old
from foreign_weights import (load, model_of_the_authors, nvidia_config, nvidia_names, tensorflow_args,
                             tensorflow_variables)
from job import Job
from program import check
from small_configs import SMALL_MODEL, SMALL_TRAINING, narrow, small
from tensor_files import read_safetensors, write_npz, write_safetensors

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[2]).resolve()
# What is not run here, by how it begins, and a test or script that runs it, or the same on a smaller scale.
PROVEN_BY = {
    "launch/quickstart": "quickstart_test",
    "launch/test": ".ci/run",
    "python3 -B tests/launch/benchmarks_test.py": "benchmarks_test",
    "launch/install_packages": "launch/test",
    "cmake --preset release": "launch/test",
    "cmake --build --preset release": "launch/test",
    "cmake --install build/release": "library_test",
    "cmake -S PREFIX/share/doc/segue/example": "library_test",
    "score_text/score_text runs/book story.txt": "library_test",
    "cmake -S PREFIX/share/doc/segue/extension_example": "extension_test",
    "cmake --build fast_weights": "extension_test",
    "segue train config.json --run runs/fast --extension": "extension_test",
    "segue eval --checkpoint runs/fast --extension": "extension_test",
    "python3 -B tests/simt/mutation_check.py . build/release": "kernel_mutations",
    "launch/checks/tests": "launch/test",
    "launch/checks/lint": "launch/test",
    "launch/checks/fuzz": "launch/test",
    "launch/checks/chaos": "chaos_test",
    "launch/checks/gpu_check --text": "gpu_check_test",
    "launch/checks/gpu_check --rehearse": "gpu_rehearsal_test",
    "launch/package/bundle": "bundle_test",
    "tar xf bundle.tar.xz": "bundle_test",
    "segue-*/gpu_check": "bundle_test",
    "segue inspect configs/family/longformer.json": "inspect_test",
    "$segue inspect configs/family/longformer.json": "inspect_test",
    "segue bench attention --device cuda": "bench_test",
    "$segue bench attention --device cuda": "bench_test",
    "segue bench head --vocab-size 267735": "bench_test",
    "mpirun --hostfile": "two_hosts_test",
    "sbatch --array": "compare_test",
    "sbatch": "slurm_test",
}
# The flags that name what a command makes.
MADE_BY_FLAGS = {"eval": {"--output"}, "export": {"--output", "--args"}, "inspect": set(), "report": {"--output", "--figures"}}
MADE_BY_OTHERS = {"-o", "--output", "--json", "--csv"}
# A file in a directory that is made.
WITHIN = {"prepare": "manifest.json", "tasks": "manifest.json", "train": "config.json", "eval": "evaluation.json",
          "compare": "index.html"}
SEPARATORS = {";", "|", "||", "&", "&&", "do", "done", "(", ")", "<("}


# The pages.

def blocks_of(page, wanted=""):
    """The blocks of code in a language, each of numbered lines; without one, those that are not marked: the shell's."""
    fence, language, indented, before = None, "", [], ""
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```") and fence is None:
            fence, language = [], line[3:].strip()
        elif line.startswith("```"):
            if fence and language == wanted:
                yield fence
            fence = None
        elif fence is not None:
            fence.append((number, line))
        elif not wanted and line.startswith("    ") and (indented or not before.strip()):
            indented.append((number, line[4:]))
        elif indented:
            yield indented
            indented = []
        before = line
    if indented:
        yield indented


def is_whole(text):
    return not text.endswith("\\") and subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode == 0


def commands_of(page):
    """Each with the number of its first line. Below `Examples:` of a help text, what is indented by two."""
    for block in blocks_of(page):
        is_help = block[0][1].startswith("Example")
        begun = None
        for number, line in block:
            if begun is None and (re.match("  [^ ]", line) is None if is_help else re.match(r" *(#|$)", line)):
                continue
            first, text = begun or (number, "")
            text += line.removeprefix("  ") if is_help else line
            begun = None if is_whole(text) else (first, text + "\n")
            if begun is None:
                yield first, text
        if begun is not None:
            yield begun


# What commands make.

def words_of(command):
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    return [word if word == "$segue" else re.sub(r"\$\w+", "*", word.removeprefix("~/")) for word in lexer]


def simple_commands(words):
    command = []
    for word in [*words, ";"]:
        if word not in SEPARATORS:
            command.append(word)
        elif command:
            yield command
            command = []


def values_of(arguments, flags):
    return [value for flag, value in zip(arguments, arguments[1:]) if flag in flags]


def made_by_program(name, arguments):
    """Patterns of what a command of the program makes."""
    inside = WITHIN.get(name)
    made = values_of(arguments, MADE_BY_FLAGS.get(name, MADE_BY_OTHERS))
    if name == "train" and not {"--resume", "--dry-run"} & set(arguments):
        made = values_of(arguments, {"--run"}) or [f"runs/{pathlib.PurePath(arguments[0]).stem}"]
    if name == "eval":
        for run in values_of(arguments, {"--checkpoint"}):
            run = run.split("/checkpoints/")[0]
            made += [f"{run}/evaluations/{value}" for value in values_of(arguments, {"--name"})]
    return [f"{path}/{inside}" if inside else path for path in made]


def made_by(command):
    made = []
    for words in simple_commands(words_of(command)):
        made += values_of(words, {">"})
        if words[0] == "mv":
            made = [path for path in made if path != words[-2]] + [words[-1]]
        at = next((i for i, word in enumerate(words) if word in ("segue", "$segue")), None)
        if at is not None:
            made += made_by_program(words[at + 1], words[at + 2:])
        if words[0].endswith("convert_torch.py"):
            names = ("vocabulary.txt",) if words[1].startswith("vocab") else ("model.safetensors", "args.json")
            made += [f"{words[2]}/{name}" for name in names]
    return made


# The world.

class World(Job):
    """A directory in which the pages' names are there, and the shell that a reader types into."""

    def __init__(self):
        super().__init__()
        self.environment |= {"HOME": self.directory, "PATH": f"{self.path('bin')}:{os.environ['PATH']}",
                             "OMP_WAIT_POLICY": "passive",
                             "OMPI_MCA_hwloc_base_binding_policy": "none"}  # cores may be fewer than a page binds to
        self.variables = []
        for name in ("bin", "build/quickstart/launch/segue", "docs", ".zsh/completions"):
            os.makedirs(self.path(name))
        os.symlink(self.binary, self.path("bin/segue"))
        os.symlink(self.binary, self.path("build/quickstart/launch/segue/segue"))
        os.symlink(BUILD, self.path("build/release"))
        shutil.copytree(ROOT / "launch/convert", self.path("launch/convert"))
        for source in sorted((ROOT / "configs").rglob("*.json")):
            self.copy_config(source)
        self.write_texts()

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
        return super().write(name, content)

    def copy_config(self, source):
        config = json.loads(source.read_text())
        kept = (ROOT / "configs/tasks", ROOT / "configs/family/published")  # no page trains these
        is_as_it_stands = source.name.endswith(".schema.json") or any(parent in kept for parent in source.parents)
        self.write(str(source.relative_to(ROOT)), json.dumps(config if is_as_it_stands else small(config)))

    def write_texts(self):
        """Of words that are many enough for the pieces that the pages ask for."""
        draw = random.Random(5)
        words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(7000)]

        def lines(count):
            return "".join(" ".join(draw.choices(words, k=12)) + "\n" for _ in range(count))

        for name in ("book", "more", "train", "books/one", "books/two"):
            self.write(name + ".txt", lines(2000 if "/" in name or name == "train" else 300))
        with open(self.path("book.txt"), "a", encoding="utf-8") as book:
            book.write("\n\n" + lines(20))  # another document
        for name in ("valid", "test", "story", "chapter"):
            self.write(name + ".txt", lines(20))
        for name in ("puzzles.bin", "more-puzzles.bin"):
            self.write(name, struct.pack("<650H", *(draw.randrange(50) for _ in range(650))))
            self.write(name + ".marks", bytes(draw.randrange(2) for _ in range(650)))
        tokens = [draw.randrange(50257) for _ in range(500)]
        for name in ("shards/train_000001", "shards/val_000000", "fineweb_train_000001", "fineweb_val_000000"):
            header = struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253)  # as llm.c writes it
            self.write(name + ".bin", header + struct.pack("<500H", *tokens))
        self.write("ids.jsonl", "".join(json.dumps({"input_ids": tokens[i:i + 10]}) + "\n" for i in range(0, 500, 10)))
        self.write("pages.jsonl", "".join(json.dumps({"content": {"text": text}}) + "\n" for text in lines(300).splitlines()))

    def run_shell(self, command, variables=()):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join([*variables, command])], cwd=self.directory,
                              env=self.environment, capture_output=True, text=True, errors="replace", timeout=300)
        return done.returncode, done.stdout + done.stderr

    def must(self, command):
        code, said = self.run_shell(command)
        check(code == 0, f"{command}\nexit {code}\n{said}")

    def problem_of(self, command):
        """Runs it where what it makes is not there yet. None if all went well."""
        made = made_by(command)
        for pattern in made:
            whole = os.path.dirname(pattern) if os.path.basename(pattern) in WITHIN.values() else pattern
            for path in glob.glob(self.path(whole)):
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        code, said = self.run_shell(command, self.variables)
        if code != 0:
            return f"exit {code}\n{said}"
        for pattern in made:
            found = glob.glob(self.path(pattern))
            if not found or not all(map(os.path.getsize, found)):
                return f"made no {pattern}\n{said}"
            if pattern.endswith(".html") and "<svg" not in pathlib.Path(found[0]).read_text():
                return f"{pattern} draws nothing"
            if (kept := ROOT / pattern).is_file() and kept.read_bytes() != pathlib.Path(found[0]).read_bytes():
                return f"made another {pattern} than the repository's"
        if re.fullmatch(r"\w+=\S+( *#.*)?", command):
            self.variables.append(command)
        return None


# What the readers of a page have.

def bring_book(world):
    """The program, and the dataset that the guide begins with."""
    world.variables.append("segue=build/quickstart/launch/segue/segue")
    world.must("segue prepare --input book.txt more.txt --split 0.9,0.05,0.05 --output data/book")


def bring_run(world):
    """And the run."""
    bring_book(world)
    world.must("segue train configs/quickstart.json --set data.path=data/book --set model.mem_len=256 --run runs/book")


def bring_published_texts(world):
    """Under the names and, where the commands tell it, of the sizes that the published ones have."""
    draw = random.Random(7)
    symbols = "".join(draw.choices("abcdefghijklmnop ", k=10000))
    os.link(world.write("enwik8", symbols * 10000), world.path("text8"))
    text = pathlib.Path(world.path("books/one.txt")).read_text()
    for name in ("wiki", "wikitext-103/wiki"):
        for split in ("train", "valid", "test"):
            world.write(f"{name}.{split}.tokens", text[:20000])
    world.write("wiki.gz", gzip.compress(text.encode()))
    world.must("zstd --quiet pages.jsonl")
    for name in ("train", "valid", "test"):
        world.write(f"ptb.{name}.txt", text[:5000])
    world.write("1b_word_vocab.txt", "\n".join(["<S>", "</S>", "<UNK>", *dict.fromkeys(text.split()[:100])]))
    for name in ("training-monolingual.tokenized.shuffled/news.en-00001-of-00100",
                 "training-monolingual.tokenized.shuffled/news.en-00002-of-00100",
                 "heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050"):
        world.write(name, text[:5000])


def bring_tokens(world):
    """Tokenizers of other programs, and tokens that such ones made."""
    kept = ROOT / "tests/data_pipeline/tokenizer/ready_made"
    gpt2 = json.loads((kept / "gpt2.json").read_text())
    gpt2["model"]["vocab"] |= {f"more{token}": token for token in range(len(gpt2["model"]["vocab"]), 50257)}
    world.write("gpt2/tokenizer.json", json.dumps(gpt2))
    for name in ("cl100k_base.tiktoken", "tokenizer.model"):
        world.write(name, (kept / "ranks.tiktoken").read_bytes())
    for name in ("train", "val"):
        world.write(name + ".bin", struct.pack("<1000H", *random.Random(7).choices(range(50257), k=1000)))


def bring_weights(world):
    """One model in the files of four programs, each in a folder of its name."""
    head = {"kind": "adaptive", "cutoffs": [10, 30], "div_val": 2, "tie_projs": [False, True, True]}
    model = {**SMALL_MODEL, "n_layer": 2, "head": head}
    world.run("prepare", "--input", "story.txt", "--output", "theirs/data")
    world.config("theirs/model.json", data={"path": "theirs/data"}, model=model, training=SMALL_TRAINING,
                 evaluation={"interval": 0})
    world.run("train", "theirs/model.json", "--run", "theirs/run")
    for name in ("transformer-xl", "nvidia", "transformer-xl-tf"):
        os.mkdir(world.path("theirs", name))
    world.run("export", "--checkpoint", "theirs/run", "--output", "theirs/transformer-xl/model.safetensors", "--args",
              "theirs/transformer-xl/args.json")
    world.run("export", "--checkpoint", "theirs/run", "--format", "huggingface", "--output", "theirs/huggingface")
    weights = world.path("theirs/transformer-xl/model.safetensors")
    args = json.loads(pathlib.Path(world.path("theirs/transformer-xl/args.json")).read_text())
    save_archive(world.path("model.pt"), model_of_the_authors(load(weights), args))
    words = ["<eos>", "<unk>", *(f"word{i}" for i in range(254))]  # as many as bytes
    save_old(world.path("vocab.bin"), {"idx2sym": words})
    world.write("vocabulary.txt", "".join(word + "\n" for word in words))
    tensors = read_safetensors(weights)
    write_safetensors(world.path("theirs/nvidia/model.safetensors"), nvidia_names(tensors, args))
    world.write("theirs/nvidia/args.json", json.dumps(nvidia_config(args)))
    write_npz(world.path("theirs/transformer-xl-tf/model.npz"), tensorflow_variables(tensors, args))
    world.write("theirs/transformer-xl-tf/args.json", json.dumps(tensorflow_args(args)))


def bring_runs(world):
    """What the examples of help take as there beside runs/books, which they train."""
    world.must("segue prepare --input story.txt chapter.txt --split 0.2,0.2,0.6 --output data/books")
    for name, memory in (("xl", 8), ("vanilla", 0)):
        world.must(f"segue train configs/books.json --set model.mem_len={memory} --run runs/{name}")
    for name, like in (("a", "xl"), ("b", "xl"), ("memoryless", "vanilla")):
        shutil.copytree(world.path("runs", like), world.path("runs", name), symlinks=True)
    world.must("segue eval --checkpoint runs/xl --data data/books --mem-len 0,128 --per-token --name memory")
    windows = "segue eval --checkpoint runs/vanilla --data data/books --recompute --stride 8 --per-token"
    world.must(f"{windows} --tgt-len 8,136 --name windows")  # the contexts of a segment of 8 with both memories
    world.must(f"{windows} --tgt-len 100,200,300 --output windows")
    for i, file in enumerate(sorted(glob.glob(world.path("windows/*.h5")))):
        for name in ("abc"[i], "def"[i]):
            shutil.copy(file, world.path(name + ".h5"))
    world.write("evaluation.json", json.dumps({"checkpoint": "runs/books", "data": "data/books", "mem_len": [0, 8]}))


def bring_job(world):
    """For the words that stand for what a person has: a config, and the directory of a run to come."""
    world.must("segue prepare --input book.txt --output data/quickstart")
    config = json.loads(pathlib.Path(world.path("configs/quickstart.json")).read_text())
    config["training"]["batch_size"] = 16
    world.write("CONFIG", json.dumps(config))


PAGES = {  # the longest first
    "docs/reference.md": [bring_published_texts, bring_tokens, bring_weights, bring_runs],
    "README.md": [],
    "CONTRIBUTING.md": [],
    "docs/guide.md": [bring_tokens, bring_weights],
    "configs/README.md": [bring_published_texts, bring_tokens],
    "docs/own-text.md": [bring_book, bring_tokens],
    "docs/tasks.md": [bring_book],
    "docs/training.md": [bring_book],
    "docs/evaluation.md": [bring_run],
    "docs/comparing.md": [bring_book],
    "docs/generation.md": [bring_run],
    "docs/weights.md": [bring_run, bring_weights],
    **{str(page.relative_to(ROOT)): [bring_book] for page in sorted((ROOT / "docs/kinds").glob("*.md"))},
    "benchmarks/README.md": [],
    "launch/cluster/README.md": [bring_job],
    "docs/extensions.md": [],
}


def unpack_weights(world, command):
    """The files that the importing command names are those of the program that it names."""
    if source := re.search(r"segue import --from (\S+)", command):
        for file in pathlib.Path(world.path("theirs", source[1])).iterdir():
            shutil.copy(file, world.path(file.name))


# What is proven, and how.

@functools.cache
def names_of_tests(*selected):
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "-N", *selected], capture_output=True, text=True, check=True)
    return re.findall(r"Test +#\d+: (\S+)", listed.stdout)


def problem_of_ctest(command):
    """Tests are not run by a test; each that the command names, and some of its preset, must be there."""
    words = words_of(command)
    presets = {preset["name"]: preset for preset in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]}
    for name in values_of(words, {"--preset"}):
        if name not in presets:
            return f"there is no test preset {name}"
        label = presets[name].get("filter", {}).get("include", {}).get("label", ".")
        if not names_of_tests("-L", label):
            return f"no test is labelled {label}"
    for pattern in values_of(words, {"-R"}):
        begin, names, end = re.fullmatch(r"(\^\w*)\(?(.*?)\)?(\$?)", pattern).groups()
        for name in names.split("|"):
            if not any(re.match(f"{begin}{name}{end}", test) for test in names_of_tests()):
                return f"no test is called {name}"
    return None


def problem_of_config(world, text):
    """Trains with it, or counts the runs of a comparison, whose base lies in configs/family."""
    config = json.loads(text)
    if "variants" in config:
        world.write("configs/family/shown.json", json.dumps(config))
        return world.problem_of("segue compare configs/family/shown.json --dry-run")
    world.write("shown.json", json.dumps(narrow(config)))
    return world.problem_of("segue train shown.json --run runs/shown")


def proofs_of(command):
    return ", ".join(proof for begin, proof in PROVEN_BY.items() if command.startswith(begin))


def problems_of_table(commands):
    registered = "".join(path.read_text() for path in (ROOT / "tests").rglob("CMakeLists.txt"))
    for begin, proof in PROVEN_BY.items():
        if not any(command.startswith(begin) for command in commands):
            yield f"PROVEN_BY: no page has the command {begin}"
        if not (ROOT / proof).is_file() and not re.search(rf"\b{proof}\b", registered):
            yield f"PROVEN_BY: there is no {proof}, which would prove {begin}"


def check_page(page):
    """Its problems, and the commands that were met."""
    world, problems, met = World(), [], []
    for bring in PAGES[page]:
        bring(world)
    for number, command in commands_of(page):
        met.append(command)
        lacks_mpirun = command.startswith("mpirun") and shutil.which("mpirun") is None
        if instead := proofs_of(command) or ("no mpirun here" if lacks_mpirun else None):
            print(f"not run: {page}:{number}: {command} ({instead})")
            continue
        began = time.monotonic()
        unpack_weights(world, command)
        if problem := problem_of_ctest(command) if command.startswith("ctest ") else world.problem_of(command):
            problems.append(f"{page}:{number}: {command}\n{problem}")
        print(f"{time.monotonic() - began:6.2f} s {page}:{number}: {command}", flush=True)
    check(met, f"{page}: no commands found")
    for block in blocks_of(page, "json"):
        began = time.monotonic()
        number, text = block[0][0], "\n".join(line for _, line in block)
        if problem := problem_of_config(world, text):
            problems.append(f"{page}:{number}: {text}\n{problem}")
        print(f"{time.monotonic() - began:6.2f} s {page}:{number}: a config", flush=True)
    return problems, met


def main():
    chosen = sys.argv[3:] or PAGES
    with concurrent.futures.ThreadPoolExecutor(2) as pages:
        found = list(pages.map(check_page, chosen))
    problems = [problem for of_page, _ in found for problem in of_page]
    if chosen is PAGES:
        problems += problems_of_table([command for _, met in found for command in met])
    sys.exit("\n".join(problems) or 0)


main()
