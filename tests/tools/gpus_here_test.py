"""Which GPUs a build for this machine alone is for, by what nvidia-smi says."""

import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "gpus_here.cmake"
CASES = {
    "echo 9.0; echo 9.0": ("90a-real", "for the compute capability of what is here: 9.0"),
    "echo 8.0; echo 12.0; echo 7.5": ("80-real;120-real", "for the compute capability of what is here: 8.0, 12.0, 7.5"),
    "echo 7.5": ("", "what is here has compute capability 7.5, and Segue needs 8.0"),
    "echo No devices were found": ("", "nvidia-smi finds no GPU here"),
    "echo 9.0; exit 9": ("", "nvidia-smi finds no GPU here"),  # a driver that does not answer
    None: ("", "nvidia-smi finds no GPU here"),
}


def found(cmake, folder, says):
    program = pathlib.Path(folder, "nvidia-smi")
    program.unlink(missing_ok=True)
    if says:
        program.write_text(f"#!/bin/sh\n{says}\n")
        program.chmod(0o755)
    done = subprocess.run([cmake, "-P", SCRIPT], env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True,
                          text=True, check=True)
    return tuple(done.stderr.splitlines())


def main():
    with tempfile.TemporaryDirectory() as folder:
        for says, expected in CASES.items():
            if says is None and any(os.access(f"{path}/nvidia-smi", os.X_OK) for path in ("/usr/bin", "/bin")):
                continue
            result = found(sys.argv[1], folder, says)
            if result != expected:
                sys.exit(f"failed: {says}: expected {expected}, found {result}")


if __name__ == "__main__":
    main()
