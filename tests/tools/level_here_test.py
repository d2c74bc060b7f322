"""Which level of x86-64 a build for this machine alone is for, by what /proc/cpuinfo says."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "level_here.cmake"
V3 = "fpu sse2 avx avx2 bmi1 bmi2 fma"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"
CASES = {
    f"processor\t: 0\nflags\t\t: {V4}\nbugs\t\t: none\n": "v4",
    f"processor\t: 0\nflags\t\t: {V3}\n": "v3",
    f"flags\t\t: {V4.replace('avx512vl', 'avx512_vnni')}\n": "v3",
    f"flags\t\t: {V3} avx512f\n": "v3",
    "vendor_id\t: unknown\n": "v3",
    None: "v3",  # no such file
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        cpuinfo = pathlib.Path(folder, "cpuinfo")
        for text, expected in CASES.items():
            cpuinfo.unlink(missing_ok=True)
            if text is not None:
                cpuinfo.write_text(text)
            done = subprocess.run([sys.argv[1], "-D", f"CPUINFO={cpuinfo}", "-P", SCRIPT], capture_output=True, text=True, check=True)
            if done.stderr.strip() != expected:
                sys.exit(f"failed: {text!r}: expected {expected}, found {done.stderr}")


if __name__ == "__main__":
    main()
