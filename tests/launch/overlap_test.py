"""The sums of gradients over a slow link pass while backward goes on."""

import json
import pathlib
import shutil
import sys

from job import Job
from program import check

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "configs" / "books.json"
LINK = 300  # MB/s: the sums take about half as long as a step of two ranks with a core each
HIDDEN = 0.2  # of the sums, at least; on a quiet machine it is 0.5 to 0.65


def main():
    if shutil.which("mpirun") is None:
        print("skipped: no mpirun here")
        return 77
    job = Job()
    output, _ = job.run_ranks(2, "bench", "exchange", CONFIG, "--device", "cpu", "--threads", 1, "--link", LINK, "--warm-up", 2,
                              "--samples", 11, "--json", "result.json")
    print(output)
    with open(job.path("result.json")) as file:
        result = json.load(file)
    check(result["setting"]["buckets"] > 1, f"one bucket: {result['setting']}")
    seconds = {found["name"]: found["seconds"] for found in result["measurements"]}
    hidden = seconds["exchange afterwards"] - seconds["exchange meanwhile"]
    check(hidden >= HIDDEN * seconds["exchange alone"], f"hidden: {hidden} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
