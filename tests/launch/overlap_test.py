"""The sums of gradients over a slow link pass while backward goes on."""

import json
import pathlib

from job import Job, require
from program import check

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "configs" / "books.json"
LINK = 300  # MB/s: the sums take about half as long as a step of two ranks with a core each
EXPOSED = 0.7  # of the sums, at most: the last bucket is complete only when backward is over; 0.3 on a quiet machine


def main():
    require("mpirun")
    job = Job()
    output, _ = job.run_ranks(2, "bench", "exchange", CONFIG, "--device", "cpu", "--threads", 1, "--link", LINK, "--warm-up", 2,
                              "--samples", 11, "--json", "result.json")
    print(output)
    with open(job.path("result.json")) as file:
        result = json.load(file)
    check(result["setting"]["buckets"] > 1, f"one bucket: {result['setting']}")
    exposed = result["setting"]["exposed_afterwards"], result["setting"]["exposed_meanwhile"]
    check(exposed[0] > 0.9 and exposed[1] < EXPOSED, f"of the sums a step waited for {exposed}")


if __name__ == "__main__":
    main()
