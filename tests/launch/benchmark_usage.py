"""Of every program in benchmarks the help, and wrong input that it refuses in one line."""

import os
import pathlib
import re
from importlib.util import find_spec

from benchmark_programs import BENCHMARKS, BUILD, USAGE, call, has, refused
from program import check

MODULES = {"loss_by_position": ["h5py", "numpy"], "state_rounding": ["torch"], "peers/state_scan_torch.py": ["torch", "fla"],
           "peers/tokenizers_encode.py": ["tokenizers"]}
README = str(BENCHMARKS / "README.md")
WITHOUT_OUTPUT = {"sass_attention", "sass_waits"}  # which tests run: they say what is wrong, and no more
REFUSED = {
    "compare_cpu": [(["--rounds", "0"], ["--rounds", "at least 1, found 0"]), (["--seconds", "nan"], ["--seconds", "found nan"]),
                    (["--authors", "nowhere"], ["--authors", "nowhere"]), (["--python", "./nowhere"], ["--python", "./nowhere"]),
                    (["--peers", "authors, eager"], ["--peers", "no --authors"]), (["--models", "13"], ["--models", "'13'"]),
                    (["--models", "12 layers, long memory", "--tasks", "training"], ["none is trained"])],
    "compare_head": [(["--tokens", "-1"], ["--tokens", "found -1"]), (["--python", "no-python"], ["--python", "no-python"]),
                     (["--no-peer", "--busy-ok", "--cutoffs", "5,x"], ["segue returned", "cutoffs"])],
    "compare_sparse": [(["--patterns", "none"], ["--patterns", "'none'"]), (["--tgt-len", "0"], ["--tgt-len", "found 0"]),
                       (["--distances"], ["--distances", "--no-peer"]), (["--sample-seconds", "x"], ["--sample-seconds", "found x"])],
    "compare_states": [(["--tgt-len", "65"], ["--tgt-len", "multiple of 64"]), (["--d-head", "128", "--tgt-len", "64"], ["--d-head, 128"]),
                       (["--text", "nowhere"], ["--text", "nowhere"]), (["--text", "/dev/null"], ["--text", "/dev/null"])],
    "compare_tokenizers": [(["nowhere", "."], ["tokenizer", "nowhere"]), ([README, "nowhere"], ["text", "nowhere"]),
                           ([README, README, "--rounds", "0"], ["--rounds", "found 0"]), ([README, README, "--busy-ok", "--no-peer"], ["segue returned", "README.md"])],
    "exchange_hosts": [(["--build", "one"], ["--build", "NAME=DIRECTORY"]), (["--build", "one=nowhere"], ["--build", "nowhere"]),
                       (["--rate", "fast; true"], ["--rate", "fast; true"]), (["--hosts", "1"], ["--hosts", "at least 2"]),
                       (["--build", f"one={BUILD}", "--config", "nowhere"], ["--config", "nowhere"])],
    "feature_error": [],
    "loaded_cpu": [(["nowhere"], ["config", "nowhere"]), (["--loads", "-1"], ["--loads", "found -1"]), (["--tasks", "sleeping"], ["--tasks", "'sleeping'"])],
    "loss_by_position": [],
    "memory_pays": [(["text"], ["NAME=DIRECTORY", "text"]), (["a=nowhere"], ["a: ", "nowhere"]), (["a=.", "a=."], ["names that differ"]),
                    (["../a=."], ["NAME=DIRECTORY"]), (["a=.", "--seeds", "1"], ["--seeds", "at least 2"]), (["a=.", "--runs", "/proc/none"], ["--runs", "/proc/none"]),
                    *((["a=.", "--plan", plan], ["--plan", plan.split(":")[-1]]) for plan in ("huge:1", "tiny", "tiny:x", "tiny:0.0001"))],
    "recompute": [(["nowhere"], ["config", "nowhere"]), (["--layers", "0"], ["--layers", "found 0"]), (["--rounds", "x"], ["--rounds", "found x"])],
    "scaling_cpu": [(["--mem-len", "8", "8"], ["--mem-len", "two values"]), (["--n-layer", "0", "1"], ["--n-layer", "found 0"]),
                    (["--config", "nowhere"], ["--config", "nowhere"])],
    "slow_products": [(["nowhere"], ["config", "nowhere"]), (["--most-tokens", "0"], ["--most-tokens", "found 0"]),
                      ([README], ["README.md"]), (["--share", "x"], ["--share", "found x"])],
    "stale_keys": [(["nowhere"], ["data", "nowhere"]), ([".", "--rounds", "1"], ["--rounds", "at least 2"]), ([".", "--runs", "/proc/none"], ["--runs", "/proc/none"]),
                   ([".", "--comparison", "nowhere"], ["--comparison", "nowhere"]), ([".", "--mem-len", "0"], ["--mem-len", "found 0"])],
    "state_rounding": [],
    "thread_idle": [(["nowhere"], ["config", "nowhere"]), (["--threads", "0"], ["--threads", "found 0"])],
    "sass_attention": [],
    "sass_waits": [],
}
PEERS = {"adaptive_softmax_torch.py": [(["--cutoffs", "20,10"], "20,10"), (["--vocab-size", "x"], "found x")],
         "attention_torch.py": [(["flex:1,2"], "flex:1,2"), (["deep:1,2,3,4,5"], "deep:1,2,3,4,5"), (["--device", "tpu"], "tpu")],
         "sparse_attention_torch.py": [(["--visibility", "{}"], "{}"), (["--heads", "0"], "found 0")],
         "state_scan_torch.py": [(["--tgt-len", "63"], "63")],
         "tokenizers_encode.py": [(["nowhere", README], "nowhere")],
         "train_step_cpu.py": [(["--n-layer", "0"], "found 0"), (["--data", "nowhere"], "nowhere")],
         "train_step_cuda.py": [(["--ways", "fast"], "fast"), (["--dropout", "-1"], "found -1")]}


def usage(program):
    scripts = {path.name for path in BENCHMARKS.iterdir() if path.is_file() and not path.suffix and path.name != "CMakeLists.txt"}
    check(scripts == set(REFUSED), f"another set of programs: {scripts ^ set(REFUSED)}")
    peers = {path.name for path in (BENCHMARKS / "peers").glob("*.py") if "if __name__" in path.read_text()}
    check(peers == set(PEERS), f"another set of peers: {peers ^ set(PEERS)}")
    for script in [*REFUSED, *(f"peers/{name}" for name in PEERS)]:
        name, modules = pathlib.Path(script).name, MODULES.get(script, ["torch"] if "/" in script else [])
        out, _ = call(program, script, "--help")
        check(re.search(rf"^  .*benchmarks/{script}\b", out, re.MULTILINE), f"{script} --help: no example:\n{out}")
        if missing := [module for module in modules if find_spec(module) is None]:
            _, said = call(program, script, "--bad", expect=USAGE)
            check(len(said.splitlines()) == 1 and said.startswith(f"{name}: ") and missing[0] in said, f"{script}: {said}")
            continue
        needed = {"memory_pays": ["a=.", "--runs", "runs"], "stale_keys": [".", "--runs", "runs"], "loss_by_position": ["a=b"],
                  "compare_tokenizers": [README, README]}.get(script, [])
        _, said = call(program, script, *needed, "--bad", expect=USAGE)
        check(len(said.splitlines()) == 1 and "--bad" in said, f"{script} --bad: {said}")
        if "/" in script or script in WITHOUT_OUTPUT:
            continue
        check("--output" in out, f"{script} --help: no --output:\n{out}")
        build = ["--build", f"one={BUILD}" if script == "exchange_hosts" else BUILD] if "--build" in out else []
        for output in (".", "/proc/none/x") if script != "feature_error" else ():  # whose program this build may lack
            _, said = call(program, script, *needed, *build, "--output", output, expect=USAGE)
            check(len(said.splitlines()) == 1 and "--output" in said, f"{script} --output: {said}")
        if build and script != "exchange_hosts":
            refused(program, script, [*needed, "--build", "nowhere"], ["--build", "nowhere"], USAGE)
    for script, cases in REFUSED.items():
        for words, says in cases:
            build = [] if script == "exchange_hosts" else ["--build", BUILD]
            refused(program, script, [*words, *build], says)
    for script, cases in PEERS.items():
        for words, says in cases if has(f"refusals of {script}", *MODULES.get(f"peers/{script}", ["torch"])) else []:
            _, said = call(program, f"peers/{script}", *words, expect=1 if "--device" in words else USAGE)
            check(len(said.splitlines()) == 1 and says in said, f"{script} {words}: {said}")
    os.mkdir(program.path("empty"))
    for script in WITHOUT_OUTPUT:
        _, said = call(program, script, "--build", program.path("empty"), expect=USAGE)
        check(len(said.splitlines()) == 1, f"{script}: {said}")
