"""A task that no model without memory can do: tokens that repeat those of D steps ago, with D beyond the segment.

The stream is random blocks of D tokens, each repeated several times. Scored are the repeated tokens only, on blocks never
trained on. With memory their loss nearly vanishes; without it, it stays near the entropy of a random token, ln V.
"""

import json
import math
import random

from program import Program, block_losses, check

VOCABULARY, TGT_LEN, DISTANCE, REPEATS = 8, 16, 24, 8
STREAMS = 16


def blocks(source, count):
    tokens = []
    for _ in range(count):
        tokens += [source.randrange(VOCABULARY) for _ in range(DISTANCE)] * REPEATS
    return tokens


def repeated_loss(program, run, mem_len):
    """Mean loss of test tokens that equal the token D steps before them in the same block."""
    rows = block_losses(program, STREAMS, "--checkpoint", run, "--data", "blocks", "--split", "test", "--mem-len", mem_len)
    period = DISTANCE * REPEATS
    losses = [loss for row in rows for i, loss in enumerate(row) if (i + 1) % period >= DISTANCE]
    return sum(losses) / len(losses)


def train(program, run, mem_len):
    config = program.config(
        run + ".json", data={"path": "blocks"},
        model={"n_layer": 2, "n_head": 2, "d_model": 64, "d_head": 32, "d_inner": 128, "mem_len": mem_len, "dropout": 0.0},
        optimizer={"lr": 0.002}, schedule={"kind": "cosine", "warmup_step": 50},
        training={"batch_size": STREAMS, "tgt_len": TGT_LEN, "max_step": 1500, "log_interval": 100},
        evaluation={"interval": 0}, checkpoint={"interval": 0})
    program.run("train", config, "--run", run)
    return repeated_loss(program, run, mem_len)


def main():
    program = Program()
    source = random.Random(3)
    program.prepare_tokens("blocks", VOCABULARY, train=blocks(source, 16 * 130), test=blocks(source, STREAMS * 4))
    with_memory = train(program, "with", 2 * TGT_LEN)
    without = train(program, "without", 0)
    entropy = math.log(VOCABULARY)
    print(json.dumps({"with_memory": with_memory, "without_memory": without, "entropy": entropy}))
    check(with_memory < 0.05, f"loss with memory is {with_memory:.4f} nats, expected below 0.05")
    check(without > 0.95 * entropy, f"loss without memory is {without:.4f} nats, expected near {entropy:.4f}")


main()
