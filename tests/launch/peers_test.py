"""The PyTorch peers run on the processor at tiny sizes, and say in one line that they find no GPU. Skipped without torch."""

import json
import os
import pathlib
import subprocess
import sys

from program import check

PEERS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
SKIPPED = 77
QUICK = ["--device", "cpu", "--warm-up", "1", "--samples", "2", "--sample-seconds", "0.001"]
SHAPE = "2,2,8,5,7"
MODEL = ["--vocab-size", "30", "--n-layer", "2", "--d-model", "16", "--n-head", "2", "--d-head", "8", "--d-inner", "16",
         "--mem-len", "6", "--tgt-len", "5", "--batch-size", "2"]


def run(script, *arguments):
    return subprocess.run([sys.executable, "-B", PEERS / script, *arguments], capture_output=True, text=True,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def last_json(script, *arguments):
    done = run(script, *arguments)
    check(done.returncode == 0, f"{script}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def attention(*arguments):
    """What is said of each case."""
    done = run("attention_torch.py", *QUICK, "--precision", "fp32", *arguments)
    check(done.returncode == 0, f"attention_torch.py: exit {done.returncode}\n{done.stdout}{done.stderr}")
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["case"]: one for one in found}


def main():
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: this python3 has no torch")
        sys.exit(SKIPPED)
    ways = attention(*(f"{way}:{SHAPE}" for way in ("eager", "flex", "flash")), "--forward-only")
    check(not any("error" in found for found in ways.values()), f"attention_torch: {ways}")
    flex = ways[f"flex:{SHAPE}"]
    check(flex["difference_from_eager"] < 1e-5, f"flex is another function: {flex}")
    both = attention(f"flex:{SHAPE}", f"eager:{SHAPE}", f"flash:{SHAPE}")
    check("error" in both.pop(f"flex:{SHAPE}"), "FlexAttention has a backward on the CPU: time it")
    check(all(way["forward and backward"]["seconds"] > 0 for way in both.values()), f"attention_torch: {both}")
    check(last_json("train_step_cuda.py", *QUICK, *MODEL)["tokens_per_second"] > 0, "train_step_cuda: no rate")
    softmax = last_json("adaptive_softmax_torch.py", *QUICK, "--vocab-size", "50", "--cutoffs", "10,20", "--d-model", "16",
                        "--div-val", "2", "--tokens", "40")["results"]
    check(sum(softmax["cluster_tokens"]) == 40, f"adaptive_softmax_torch: {softmax}")
    tails = sum(count * (16 * width + width * words)
                for count, width, words in zip(softmax["cluster_tokens"][1:], (8, 4), (10, 30)))
    check(softmax["loss"]["flops"] == 2 * (40 * 16 * 12 + tails), f"adaptive_softmax_torch: {softmax}")
    for script in ("attention_torch.py", "train_step_cuda.py"):
        done = run(script)
        check(done.returncode == 1 and "finds no GPU here" in done.stderr and len(done.stderr.splitlines()) == 1,
              f"{script} without a GPU: exit {done.returncode}, {done.stderr}")


if __name__ == "__main__":
    main()
