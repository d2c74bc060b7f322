"""Training on several ranks with a GPU each, the emulated one: sums through the host's memory and through NCCL, in graphs,
give the curve of one rank."""

from job import Job, check_close, losses, require
from program import TINY_MODEL, check

STEPS = 8  # graphs are recorded from the fourth on


def test_exchange_is_measured(job):
    for communicator in ("mpi", "nccl"):
        output, _ = job.run_ranks(2, "bench", "exchange", "config.json", "--device", "cuda", "--vocab-size", 50, "--warm-up", 0,
                                  "--samples", 1, "--peak-product", 64, "--copy-bytes", 65536, "--set",
                                  f"training.communicator={communicator}")
        check(f"over {communicator.upper()}" in output and "of the sums after the backward pass" in output, output)


def main():
    require("mpirun")
    job = Job()
    job.prepare_text("text", 20000, 1)
    job.write_config(model=dict(TINY_MODEL, mem_len=16), evaluation={"interval": 0}, checkpoint={"interval": 4},
                     training={"batch_size": 3, "batch_chunk": 2, "max_step": STEPS, "device": "cuda", "bucket_mb": 0.02})
    test_exchange_is_measured(job)
    alone = losses(job.train(1, "alone"))
    for communicator in ("mpi", "nccl"):
        options = ("--set", f"training.communicator={communicator}")
        run = losses(job.train(2, communicator, *options))
        check_close(run, alone, 1e-4, communicator)
    # Over NCCL; sharded over MPI, below.
    sharded = job.train(2, "sharded", *options, "--set", "optimizer.shard=true")
    check_close(losses(sharded), run, 1e-6, "sharded")
    job.train(2, "half", *options, "--set", "training.max_step=4")
    resumed = job.train(3, "half", "--resume", *options)
    check_close(losses(resumed), alone, 1e-4, "resumed on three ranks")
    precise = ("--set", "training.precision=bf16")
    sharded = job.train(2, "bf16", "--set", "training.communicator=mpi", "--set", "optimizer.shard=true", *precise)
    check_close(losses(sharded), losses(job.train(1, "bf16-alone", *precise)), 1e-2, "bf16, sharded")


if __name__ == "__main__":
    main()
