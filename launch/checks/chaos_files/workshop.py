"""What all campaigns of launch/checks/chaos share: the program, the text, undisturbed runs, and what may be done on this machine."""

import ctypes
import json
import os
import random
import shutil
import subprocess
import threading

CLONE_NEWNS = 0x00020000
SMALL_DISK = "8m"
TRAINING = {"batch_size": 3, "tgt_len": 12, "max_step": 150, "log_interval": 1, "threads": 1, "peer_timeout": 20}
MODEL = {"n_layer": 2, "n_head": 2, "d_model": 16, "d_head": 6, "d_inner": 24, "mem_len": 20, "dropout": 0.1, "dropatt": 0.1}
# Steps of a millisecond, a save every few, an evaluation and the end of an epoch now and then.
VARIANTS = {
    "adam": {"schedule": {"kind": "cosine", "warmup_step": 3}, "training": {"batch_chunk": 2},
             "checkpoint": {"interval": 3, "keep_last": 2}},
    "adamw": {"optimizer": {"kind": "adamw", "weight_decay": 0.01, "shard": True}, "schedule": {"kind": "plateau"},
              "checkpoint": {"interval": 2, "keep_last": 1}, "evaluation": {"interval": 7}},
    "lamb": {"optimizer": {"kind": "lamb"}, "schedule": {"kind": "constant"}, "model": {"position": {"kind": "shaw"}},
             "checkpoint": {"interval": 4, "keep_last": 3}},
}


def merged(base, more):
    """Of two configs, the second first."""
    result = dict(base)
    for key, value in more.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


def make_text(seed):
    source = random.Random(seed)
    words = ["".join(source.choice("abcdefghij") for _ in range(source.randint(1, 7))) for _ in range(50)]
    return " ".join(source.choice(words) for _ in range(400))


def may_mount(directory):
    """From now on in a mount namespace of our own, so that nothing stays mounted whatever becomes of this process."""
    library = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or library.unshare(CLONE_NEWNS) != 0:
        return False
    disk = directory / "disk-test"
    disk.mkdir()
    commands = (["mount", "--make-rprivate", "/"], mount_command(disk), ["umount", disk])
    return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)


def mount_command(path):
    return ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "chaos", path]


def may_make_immutable(directory):
    file = directory / "immutable"
    file.touch()
    done = subprocess.run(["chattr", "+i", file], capture_output=True, check=False).returncode == 0
    subprocess.run(["chattr", "-i", file], capture_output=True, check=False)
    file.unlink()
    return done


class Workshop:
    """Made before any thread: namespaces are a thread's."""

    def __init__(self, directory, program, seed):
        self.directory = directory
        self.program = shutil.copy2(program, directory / "segue")  # a build meanwhile changes nothing
        self.most_ranks = 3 if shutil.which("mpirun") else 1
        self.mounts = may_mount(directory)
        self.immutables = bool(shutil.which("chattr")) and may_make_immutable(directory)
        self.shim = self._compile_shim()
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                                OMPI_MCA_mpi_yield_when_idle="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.references = {}
        self.lock = threading.Lock()
        self._prepare(seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in os.listdir(self.directory):
            if name.startswith("disk-"):
                subprocess.run(["umount", "--lazy", self.directory / name], check=False, capture_output=True)

    def describe(self):
        can = [("1 to 3 ranks" if self.most_ranks > 1 else "1 rank (no mpirun)"),
               ("small disks" if self.mounts else "no small disks (not allowed to mount)"),
               ("stalled disks" if self.shim else "no stalled disks (no C compiler)"),
               ("leftovers that cannot be deleted" if self.immutables else "no leftovers that cannot be deleted (no chattr +i)")]
        return ", ".join(can)

    def _compile_shim(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            return None
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harmed_disk.c")
        library = self.directory / "harmed_disk.so"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return library

    def _prepare(self, seed):
        (self.directory / "text.txt").write_text(make_text(seed))
        subprocess.run([self.program, "prepare", "--input", self.directory / "text.txt", "--split", "0.8,0.1,0.1",
                        "--output", self.directory / "text"], check=True, capture_output=True)
        for name, variant in VARIANTS.items():
            base = {"data": {"path": str(self.directory / "text")}, "model": MODEL, "optimizer": {"lr": 0.001},
                    "training": TRAINING, "evaluation": {"interval": 20, "batch_size": 3}}
            (self.directory / f"{name}.json").write_text(json.dumps(merged(base, variant), indent=2))

    def config(self, variant):
        return self.directory / f"{variant}.json"

    def command(self, ranks, *arguments):
        launcher = [] if ranks == 1 else ["mpirun", "-np", str(ranks)]
        return [*launcher, self.program, *map(str, arguments)]

    def reference(self, variant, ranks):
        """The directory of a run that nothing happens to."""
        with self.lock:
            key = f"{variant}-{ranks}"
            run = self.directory / f"reference-{key}"
            if key not in self.references:
                done = subprocess.run(self.command(ranks, "train", self.config(variant), "--run", run, "--quiet"),
                                      env=self.environment, capture_output=True, text=True, check=False,
                                      start_new_session=True)
                if done.returncode != 0:
                    raise RuntimeError(f"the undisturbed run {key} ended with {done.returncode}: {done.stderr}")
                self.references[key] = run
            return run

    def make_disk(self, path):
        """A file system of its own, of a few MB."""
        path.mkdir()
        subprocess.run(mount_command(path), check=True)
