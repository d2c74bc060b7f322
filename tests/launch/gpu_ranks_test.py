"""Training on several ranks with a GPU each, the emulated one: sums through the host's memory and through NCCL, in graphs,
give the curve of one rank."""

import shutil
import sys

from job import Job
from program import TINY_MODEL, check, metrics

STEPS = 8  # graphs are recorded from the fourth on


def losses(run):
    return [line["loss"] for line in metrics(run)]


def check_close(found, expected, limit, what):
    worst = max(abs(a - b) / b for a, b in zip(losses(found), losses(expected), strict=True))
    check(worst <= limit, f"{what}: a loss differs by {worst}")


def main():
    if shutil.which("mpirun") is None:
        print("skipped: no mpirun here")
        return 77
    job = Job()
    job.prepare_text("text", 20000, 1)
    job.config("config.json", data={"path": "text"}, model=dict(TINY_MODEL, mem_len=16),
               training={"batch_size": 3, "batch_chunk": 2, "tgt_len": 16, "max_step": STEPS, "log_interval": 1,
                         "device": "cuda", "bucket_mb": 0.02},
               schedule={"kind": "constant"}, evaluation={"interval": 0}, checkpoint={"interval": 4})
    alone = job.train(1, "alone")
    for communicator in ("mpi", "nccl"):
        options = ("--set", f"training.communicator={communicator}")
        run = job.train(2, communicator, *options)
        check_close(run, alone, 1e-4, communicator)
        sharded = job.train(2, communicator + "-sharded", *options, "--set", "optimizer.shard=true")
        check_close(sharded, run, 1e-6, communicator + ", sharded")
        job.train(2, communicator + "-half", *options, "--set", "training.max_step=4")
        resumed = job.train(3, communicator + "-half", "--resume", *options)
        check_close(resumed, alone, 1e-4, communicator + ", resumed on three ranks")
    precise = ("--set", "training.precision=bf16")
    check_close(job.train(2, "bf16", "--set", "training.communicator=nccl", "--set", "optimizer.shard=true", *precise),
                job.train(1, "bf16-alone", *precise), 1e-2, "bf16, sharded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
