"""Times work on a device as `segue bench` does: the median of samples of as many calls as fill some milliseconds."""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from command_line import at_least


@dataclass(frozen=True)
class Effort:
    warm_up: int = 10
    samples: int = 20
    sample_seconds: float = 0.02


def add_effort_options(parser: argparse.ArgumentParser, sample_seconds: float) -> None:
    parser.add_argument("--warm-up", type=at_least(0), default=Effort.warm_up, help="calls before those that are timed")
    parser.add_argument("--samples", type=at_least(1), default=Effort.samples)
    parser.add_argument("--sample-seconds", type=at_least(0, float), default=sample_seconds, help="of a sample, about, or one call")


def effort_of(arguments: argparse.Namespace) -> Effort:
    return Effort(arguments.warm_up, arguments.samples, arguments.sample_seconds)


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(device: torch.device, calls: int, call: Callable[[], object]) -> float:
    synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        call()
    synchronize(device)
    return time.perf_counter() - start


def as_graph(device: torch.device, call: Callable[[], object]) -> Callable[[], object] | None:
    """A call that queues the same work as one CUDA graph, so that what Python costs does not count; None where PyTorch
    cannot record it."""
    if device.type != "cuda":
        return None
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        for _ in range(3):  # PyTorch asks for calls on another stream before a recording
            call()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            call()
    except RuntimeError:
        return None
    return graph.replay


def time_calls(device: torch.device, effort: Effort, call: Callable[[], object]) -> dict:
    """Seconds per call: median, lowest, highest."""
    for _ in range(effort.warm_up):
        call()
    calls = min(200, max(1, round(effort.sample_seconds / seconds_of(device, 1, call))))
    seconds = sorted(seconds_of(device, calls, call) / calls for _ in range(effort.samples))
    return {"seconds": statistics.median_high(seconds), "seconds_lowest": seconds[0], "seconds_highest": seconds[-1]}


def peak_bytes(device: torch.device, call: Callable[[], object]) -> int | None:
    """Device memory that one call takes on top of what was there before; unknown on the CPU."""
    if device.type != "cuda":
        return None
    synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    call()
    synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def device_named(name: str) -> torch.device:
    """Ends the program with one line where PyTorch has no such device."""
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit(f"PyTorch {torch.__version__} finds no GPU here; with --device cpu this runs on the processor")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SystemExit(f"--device: expected cpu or cuda, found {name}") from None
    if device.type not in ("cpu", "cuda"):
        raise SystemExit(f"--device: expected cpu or cuda, found {name}")
    return device


def describe(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
