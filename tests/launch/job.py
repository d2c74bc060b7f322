"""The program as several ranks."""

import subprocess

from program import Program, check


class Job(Program):
    """Runs the program under mpirun."""

    def __init__(self):
        super().__init__()
        self.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    def start_ranks(self, ranks, *arguments):
        command = ["mpirun", "-np", str(ranks), self.binary, *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.directory, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run_ranks(self, ranks, *arguments, expect=0):
        process = self.start_ranks(ranks, *arguments)
        output, errors = process.communicate(timeout=120)
        check(process.returncode == expect,
              f"{ranks} ranks of {' '.join(map(str, arguments))}: exit {process.returncode}, expected {expect}\n"
              f"{output}{errors}")
        return output, errors

    def train(self, ranks, run, *more):
        self.run_ranks(ranks, "train", "config.json", "--run", run, "--quiet", *more)
        return self.path(run)
