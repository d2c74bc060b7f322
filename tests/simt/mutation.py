"""One way in which a kernel could be wrong."""

from typing import NamedTuple

KERNELS = "kernels/cuda/"


class Mutation(NamedTuple):
    file: str
    meaning: str
    text: str  # in the file exactly once
    replacement: str
    filter: str  # of GoogleTest: who should notice
    unit: str  # the source to compile: the file itself, or one that includes it
    test: str = "kernels_simt_test"
    folder: str = "tests/kernels"  # of the test, in the build folder

    @property
    def needs_cuda(self) -> bool:
        """Whether only a build with CUDA has the test."""
        return self.test.endswith("_host_test")


def kernel(family: str, meaning: str, text: str, replacement: str, tests: str) -> Mutation:
    unit = f"{KERNELS}{family}.cu"
    return Mutation(unit, meaning, text, replacement, tests, unit)


def shared(name: str, meaning: str, text: str, replacement: str, tests: str, family: str) -> Mutation:
    """Of a formula that processors and GPUs share."""
    return Mutation(f"kernels/{name}.h", meaning, text, replacement, tests, f"{KERNELS}{family}.cu")


def header(name: str, meaning: str, text: str, replacement: str, tests: str, family: str) -> Mutation:
    return Mutation(f"{KERNELS}{name}.cuh", meaning, text, replacement, tests, f"{KERNELS}{family}.cu")
