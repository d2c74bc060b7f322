"""One run of launch/checks/chaos: started, harmed and resumed until it is finished, then compared."""

import pathlib
import re
import shutil
import signal
import subprocess
import time

import comparison
import harms
from attempt import Attempt, Finding, Page, numbered
from workshop import TRAINING, VARIANTS

ELASTIC_LIMIT = 1e-5  # relative of losses, absolute of weights
MOST_STARTS = 80  # of a campaign
MOST_HARMS = 3  # of one start
# Not even after a harm that may end a run in many ways: done, a defect, a crash.
NEVER = (0, 9, *(code for crash in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS) for code in (-crash, 128 + crash)))
WARNINGS_EXPECTED = ("no checkpoint to resume from", "; left there")


class Campaign:
    """`dice` is its own source of random numbers."""

    def __init__(self, workshop, ledger, number, dice):
        self.workshop, self.ledger, self.number, self.dice = workshop, ledger, number, dice
        self.variant = dice.choice(sorted(VARIANTS))
        self.config = workshop.config(self.variant)
        self.steady_ranks = dice.choice([1, 1, 2, 3][:1 + workshop.most_ranks])
        self.is_elastic = workshop.most_ranks > 1 and dice.random() < 0.3
        self.ranks = self.steady_ranks
        self.is_on_small_disk = workshop.mounts and dice.random() < 0.3
        self.home = workshop.directory / (f"disk-{number}" if self.is_on_small_disk else f"campaign-{number}")
        self.run_directory = self.home / "run"
        self.filler = self.home / "filler"
        self.errors = workshop.directory / f"errors-{number}"  # not on the small disk
        self.page = Page(workshop.directory / f"page-{number}")
        self.stuck = []
        self.difference = 0.0
        self.starts = 0
        self.is_over = False

    def kind(self):
        return "elastic" if self.is_elastic else f"steady on {self.steady_ranks}"

    def run(self, deadline):
        """Raises Finding."""
        if self.is_on_small_disk:
            self.workshop.make_disk(self.home)
        else:
            self.home.mkdir()
        reference = self.workshop.reference(self.variant, 1 if self.is_elastic else self.steady_ranks)
        while not self.is_over:
            self.starts += 1
            is_left_alone = time.monotonic() > deadline() or self.starts > MOST_STARTS
            self._start_and_harm(0 if is_left_alone else MOST_HARMS)
        self._free_stuck()
        self._compare(reference)

    def _is_finished(self):
        """Trained and evaluated: the last evaluation comes after a save."""
        checkpoints = self.run_directory / "checkpoints"
        newest = max(numbered(checkpoints))
        return newest == TRAINING["max_step"] and not comparison.is_pending(checkpoints, newest)

    def _start_and_harm(self, most_harms):
        if self.is_elastic:
            self.ranks = self.dice.randint(1, self.workshop.most_ranks)
        attempt = Attempt(self)
        self.ledger.attempted()
        try:
            what, allowed = self._harm(attempt, most_harms)
            code = attempt.wait_for_end(what)
        finally:
            attempt.kill_all()
            self.page.order()
            self.filler.unlink(missing_ok=True)
        if most_harms > 0 and allowed is not None:
            self.ledger.ended(what, code)
        self._judge(attempt, what, allowed, code)

    def _harm(self, attempt, most):
        """The last harm's name and the exit codes that it allows; None when the run is to finish."""
        what = "nothing was done to it"
        for i in range(most):
            harm = self._choose(must_end=i == most - 1)
            is_aimed_at_save = self.dice.random() < 0.6  # some come too late
            if not self._take_aim(attempt, is_aimed_at_save):
                break
            what = harm.name
            is_inside = attempt.saving()
            has_begun = attempt.step() > attempt.before  # to wait for signals, too
            allowed = harm.apply(attempt, self.dice, self)
            self.ledger.harmed(harm.name, is_inside)
            if harm.ends:
                return what, allowed if has_begun else ()
            self.ledger.ended(harm.name, None)
        return what, None

    def _choose(self, *, must_end):
        possible = [harm for harm in harms.HARMS if harm.needs(self) and (harm.ends or not must_end)]
        return self.dice.choices(possible, [harm.weight for harm in possible])[0]

    def _take_aim(self, attempt, is_aimed_at_save):
        """Waits for the moment; false when the run was over before."""
        moment = self.dice.random()
        if moment < 0.07 and not is_aimed_at_save:  # while it starts
            time.sleep(self.dice.uniform(0.0, 0.5))
            return attempt.running()
        wanted = max(attempt.before, attempt.step()) + self.dice.randint(1, 6)
        if not attempt.wait_until(lambda: attempt.step() >= wanted, f"step {wanted}"):
            return False
        if not is_aimed_at_save:
            return attempt.wait_until(lambda: not attempt.saving(), "a step between saves", pause=0.0002)
        if self.workshop.shim and self.is_on_small_disk:  # whose saves would be over before they are seen
            self.page.order(sync_delay_ms=3)
        if not attempt.wait_until(attempt.saving, "a save", pause=0.0002):
            return False
        time.sleep(self.dice.choice((0.0, self.dice.uniform(0.0, 0.02))))
        return True

    def _last_step(self):
        """Of metrics.jsonl; 0 while nothing was trained."""
        is_there = (self.run_directory / "metrics.jsonl").exists()
        lines = comparison.metrics(self.run_directory) if is_there else []
        return lines[-1]["step"] if lines else 0

    def _judge(self, attempt, what, allowed, code):
        """How it ended, and what is there now."""
        newest = max(numbered(attempt.checkpoints))
        lines = attempt.lines()
        if newest < attempt.before:
            raise Finding(f"{what}: the newest checkpoint was step {attempt.before} and is {newest}")
        for line in lines:
            resumed = re.search(r"resumed from \S+ at step (\d+)", line)
            if resumed and int(resumed.group(1)) != attempt.before:
                raise Finding(f"{what}: resumed at step {resumed.group(1)}, expected {attempt.before}")
            if " W " in line and not any(expected in line for expected in WARNINGS_EXPECTED):
                raise Finding(f"{what}: unexpected warning: {line}")
        if code == harms.STOPPED and newest != self._last_step():
            raise Finding(f"{what}: said that it saved, and the newest checkpoint is step {newest}: {' | '.join(lines[-3:])}")
        if self._is_finished() and code in (0, harms.STOPPED):
            self.is_over = True  # killed after its last save, it has yet to mark the best checkpoint and to clear up
            return
        is_allowed = (code not in NEVER if allowed == () else code in allowed) if allowed is not None else False
        if not is_allowed:
            said = [line for line in lines if line.startswith("segue: ")] or lines[-3:]
            raise Finding(f"{what}: ended with {code}: {' | '.join(said)}")

    def leave_stuck(self, directory):
        directory.mkdir(exist_ok=True)
        held = directory / f"held-{len(self.stuck)}"
        held.touch()
        subprocess.run(["chattr", "+i", held], check=True)
        self.stuck.append(held)

    def _free_stuck(self):
        while self.stuck:
            held = self.stuck.pop()
            for path in self.run_directory.glob(f"checkpoints/*/{held.name}"):
                subprocess.run(["chattr", "-i", path], check=True)

    def _compare(self, reference):
        if not self.is_elastic:
            difference = comparison.difference_of_steady(self.run_directory, reference, TRAINING["max_step"])
            if difference:
                raise Finding(difference)
            return
        self.difference = comparison.difference_of_elastic(self.run_directory, reference, TRAINING["max_step"])
        if not self.difference <= ELASTIC_LIMIT:
            raise Finding(f"losses or weights differ by {self.difference:.1e} from those of one rank, expected at most "
                          f"{ELASTIC_LIMIT}")

    def remove(self):
        if self.is_on_small_disk:
            subprocess.run(["umount", "--lazy", self.home], check=True)
        shutil.rmtree(self.home, ignore_errors=True)
        self.page.path.unlink()
        self.errors.unlink()

    def keep(self):
        """Where the run is kept, with what the last start said. Only this process sees the small disks."""
        self._free_stuck()
        kept = pathlib.Path(f"{self.workshop.directory}/finding-{self.number}")
        shutil.copytree(self.home, kept, symlinks=True, ignore=shutil.ignore_patterns("filler"))
        shutil.move(self.errors, kept)
        if not self.is_on_small_disk:
            shutil.rmtree(self.home, ignore_errors=True)
        return kept
