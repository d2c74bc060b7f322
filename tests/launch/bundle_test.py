"""launch/package/bundle: packs what is built, and the archive works in a root that holds nothing but it, a shell and glibc.

The second argument is the build directory. Skipped where this user may not change the root.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from bare_root import Root, can_change_root, libraries_of
from program import TINY_MODEL, Program, check, metrics

PACK = pathlib.Path(__file__).resolve().parents[2] / "launch" / "package" / "bundle"
LARGEST = 40 * 10**6  # bytes
SKIPPED, DEVICE_ERROR = 77, 7


def unpack(program, build):
    archive = program.path("bundle.tar.xz")
    subprocess.run([PACK, "--build-dir", build, "--output", archive], check=True)
    check(os.path.getsize(archive) < LARGEST, f"{os.path.getsize(archive)} bytes, expected less than {LARGEST}")
    root = Root(program.path("root"), "/bundle")
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root.path], check=True)
    (folder,) = root.path.glob("segue-*")
    folder.rename(root.path / "bundle")
    for others in ("include", "share"):
        check(not (root.path / "bundle" / others).exists(), f"packed although the library alone has it: {others}")
    return root


def test_gpu_check(root):
    """In the bundle, too, it finds its own parts and says that there is no GPU."""
    done = subprocess.run([sys.executable, root.path / "bundle/gpu_check"], capture_output=True, text=True,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    check(done.returncode == DEVICE_ERROR and len(done.stderr.splitlines()) == 1, f"{done.returncode}: {done.stdout}{done.stderr}")
    check(not (root.path / "bundle/__pycache__").exists(), "gpu_check left something in the bundle")


def test_missing_tools(program):
    """Named before anything is built."""
    os.mkdir(program.path("bin"))
    for tool in ("bash", "dirname", "cmake", "git", "sed", "tar"):
        os.symlink(shutil.which(tool), program.path("bin", tool))
    done = subprocess.run([PACK], capture_output=True, text=True, env={"PATH": program.path("bin")})
    check(done.returncode == 1 and len(done.stderr.splitlines()) == 1, f"{done.returncode}: {done.stdout}{done.stderr}")
    for tool in ("objdump (binutils)", "patchelf", "xz (xz-utils)", "launch/install_packages"):
        check(tool in done.stderr, f"expected {tool}: {done.stderr}")
    check("cmake" not in done.stderr, done.stderr)


def add_glibc(root):
    bundle = root.path / "bundle"
    for library in libraries_of(*(bundle / "bin").iterdir()):
        if not library.startswith(str(bundle)):
            check(re.search(r"/(ld-linux|lib(c|m|dl|rt|pthread|resolv|util)\.so)", library), f"not packed: {library}")
            root.add(library)


def test_libraries_of_cuda(root):
    root.write("bundle/bin/show", '#!/bin/sh\necho "$LD_LIBRARY_PATH"\n')
    root.write("bundle/cuda_libraries", "libexample.so.9\n", 0o644)
    check(root.run("./with_cuda show") == ("\n", ""), "a host without a GPU misses nothing")
    root.write("dev/nvidiactl")
    root.write("bundle/cuda_libraries", "libexample.so.9\nlibuseful.so.2 optional\n", 0o644)
    _, errors = root.run("./with_cuda show")
    check("libexample.so.9 not found; searched: LD_LIBRARY_PATH" in errors and len(errors.splitlines()) == 1, errors)
    root.write("bin/python3", "#!/bin/sh\necho /wheels/nvidia/cu13/lib\n")
    for folder in ("/wheels/nvidia/cu13/lib", "/usr/local/cuda-9.9/lib64", "/of my own"):
        root.write(folder.lstrip("/") + "/libexample.so.9")
        output, errors = root.run("./with_cuda show", LD_LIBRARY_PATH="/nowhere:/of my own")
        check((output, errors) == (f"/nowhere:/of my own:{folder}\n", ""), f"{folder}: {output}{errors}")


def test_program(program, root):
    root.write("bundle/tiny.json", open(program.config(
        "tiny.json", data={"path": "data"}, model=TINY_MODEL, evaluation={"interval": 0},
        training={"batch_size": 2, "tgt_len": 16, "max_step": 4, "log_interval": 2})).read())
    root.write("bundle/text.txt", "all work and no play\n" * 200)
    help_text, _ = root.run("./segue --help")
    check("Segue trains" in help_text, help_text)
    root.run("./segue prepare --input text.txt --split 0.8,0.1,0.1 --output data")
    root.run("./segue train tiny.json --run run")
    check([line["step"] for line in metrics(root.path / "bundle/run")] == [2, 4], "no metrics of four steps")
    _, errors = root.run("./segue train tiny.json --set training.device=cuda --run other", expect=DEVICE_ERROR)
    check(len(errors.splitlines()) == 1 and errors.startswith("segue: "), f"expected one line, found: {errors}")


def main():
    if not can_change_root():
        print("skipped: this user may not change the root")
        sys.exit(SKIPPED)
    program = Program()
    test_missing_tools(program)
    root = unpack(program, sys.argv[2])
    readme = (root.path / "bundle/README.md").read_text()
    check(re.search(r"glibc 2\.\d+ ", readme) and "@" not in readme, f"README.md is not filled in:\n{readme}")
    test_gpu_check(root)
    add_glibc(root)
    test_program(program, root)
    test_libraries_of_cuda(root)


if __name__ == "__main__":
    main()
