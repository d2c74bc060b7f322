"""A root that holds nothing but a shell, glibc and what is put there: shared by the tests beside this file."""

import os
import pathlib
import re
import shutil
import subprocess

from program import check


class Root:
    """A folder that a process takes for everything there is; commands run in its folder `home`. LD_ORIGIN_PATH tells glibc
    where the program lies, which it would read from /proc."""

    def __init__(self, path, home):
        self.path = pathlib.Path(path)
        self.home = home
        self.enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "chroot"]
        for folder in ("tmp", "dev", "bin"):
            (self.path / folder).mkdir(parents=True)
        self.add_shell()

    def add(self, file):
        target = self.path / str(file).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)

    def add_shell(self):
        shutil.copy("/bin/sh", self.path / "bin/sh")
        for library in libraries_of("/bin/sh"):
            self.add(library)

    def write(self, name, text="", mode=0o755):
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def run(self, command, expect=0, **environment):
        done = subprocess.run([*self.enter, self.path, "/bin/sh", "-c", f"cd {self.home} && {command}"],
                              capture_output=True, text=True,
                              env={"PATH": "/bin:/usr/sbin", "LD_ORIGIN_PATH": f"{self.home}/bin", **environment})
        check(done.returncode == expect, f"{command}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr


def libraries_of(*programs):
    listed = subprocess.run(["ldd", *map(str, programs)], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"(/\S+) \(0x", listed))


def can_change_root():
    enter = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return subprocess.run([*enter, "chroot", "/", "/bin/sh", "-c", ":"], capture_output=True).returncode == 0
