"""What launch/checks/chaos does to a run that trains."""

import dataclasses
import errno
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable

from attempt import Finding

STOPPED = 75  # exit codes of the program
FILE = 6
PEER = 8
SAVING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


@dataclasses.dataclass(frozen=True)
class Harm:
    """`apply(attempt, dice, campaign)` gives the exit codes that may follow; an empty tuple: any of a run that ended early."""

    name: str
    apply: Callable
    weight: float = 1.0
    needs: Callable = lambda campaign: True
    ends: bool = True  # the run, or is it to go on


def any_rank(attempt, dice):
    pids = attempt.pids()
    return dice.choice(pids) if pids else attempt.process.pid


def kill_rank(attempt, dice, _):
    attempt.signal(any_rank(attempt, dice), signal.SIGKILL)
    return ()


def kill_all(attempt, _, __):
    for pid in attempt.pids():
        attempt.signal(pid, signal.SIGKILL)
    return ()


def kill_launcher(attempt, _, __):
    attempt.pids()
    attempt.signal(attempt.process.pid, signal.SIGKILL)
    return ()


def stop_and_continue(attempt, dice, _):
    pid = any_rank(attempt, dice)
    attempt.signal(pid, signal.SIGSTOP)
    time.sleep(dice.uniform(0.0, 0.7))
    attempt.signal(pid, signal.SIGCONT)


def kill_stopped(attempt, dice, _):
    pid = any_rank(attempt, dice)
    attempt.signal(pid, signal.SIGSTOP)
    time.sleep(dice.uniform(0.0, 0.3))
    attempt.signal(pid, signal.SIGKILL)
    return ()


def save_and_stop(attempt, dice, _):
    """A single process, or one rank of several, is enough."""
    attempt.signal(any_rank(attempt, dice), dice.choice(SAVING_SIGNALS))
    return (STOPPED,)


def save_and_stop_job(attempt, _, __):
    attempt.signal(attempt.process.pid, signal.SIGUSR1)
    return (STOPPED,)


def end_job(attempt, dice, _):
    """mpirun gives its ranks a second, which may or may not be enough."""
    attempt.signal(attempt.process.pid, dice.choice((signal.SIGINT, signal.SIGTERM)))
    return ()


def repeat_signals(attempt, dice, _):
    pid = any_rank(attempt, dice)
    for _ in range(dice.randint(2, 5)):
        attempt.signal(pid, dice.choice((signal.SIGTERM, signal.SIGUSR1)))
        time.sleep(dice.uniform(0.0, 0.02))
    return (STOPPED,)


def repeat_interrupt(attempt, dice, _):
    """The second may end it at once."""
    pid = any_rank(attempt, dice)
    attempt.signal(pid, signal.SIGINT)
    time.sleep(dice.uniform(0.0, 0.02))
    attempt.signal(pid, signal.SIGINT)
    return ()


def fill_disk(attempt, dice, campaign):
    """All but some pages, until the run has ended."""
    free = os.statvfs(campaign.home)
    left = dice.choice((0, dice.randint(0, 15)))
    try:
        with open(campaign.filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail - left) * free.f_frsize)
    except OSError:  # the run was faster
        with open(campaign.filler, "ab", buffering=0) as file:
            try:
                while file.write(bytes(free.f_frsize)):
                    pass
            except OSError:
                pass
    return (FILE,)


def refuse_writes(attempt, dice, campaign):
    process = any_rank(attempt, dice) if dice.random() < 0.5 else 0
    campaign.page.order(write_error=dice.choice((errno.ENOSPC, errno.EDQUOT, errno.EIO)), process=process)
    return (FILE,)


def refuse_syncs(attempt, dice, campaign):
    campaign.page.order(sync_error=dice.choice((errno.ENOSPC, errno.EDQUOT, errno.EIO)))
    return (FILE,)


def limit_files(attempt, dice, _):
    """No file of a rank may grow any more: SIGXFSZ, or an error where that is ignored. Nothing is done while there is no
    rank: how mpirun fares without files is not the program's to answer for."""
    pids = attempt.pids()
    if not pids:
        return ()
    try:
        pid = dice.choice(pids)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (dice.randint(0, 4096), resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]))
    except (ProcessLookupError, PermissionError):
        pass
    return ()


def stall(attempt, dice, campaign):
    """Every write, or every sync, takes as long as this does."""
    what = dice.choice(("write_delay_ms", "sync_delay_ms"))
    process = any_rank(attempt, dice) if dice.random() < 0.5 else 0
    campaign.page.order(process=process, **{what: 3000})
    time.sleep(dice.uniform(0.1, 2.0))
    campaign.page.order()


def kill_stalled(attempt, dice, campaign):
    campaign.page.order(**{dice.choice(("write_delay_ms", "sync_delay_ms")): 3000})
    time.sleep(dice.uniform(0.0, 0.5))
    attempt.signal(any_rank(attempt, dice), signal.SIGKILL)
    campaign.page.order()
    return ()


def start_another(attempt, _, campaign):
    """Beside the one that runs, which it must not disturb, and which waits so that it is there all the time."""
    pids = attempt.pids() if attempt.step() > attempt.before else []
    for pid in pids:
        attempt.signal(pid, signal.SIGSTOP)
    if not pids:
        return
    done = subprocess.run(campaign.workshop.command(1, "train", campaign.config, "--run", attempt.run, "--resume"),
                          capture_output=True, text=True, env=campaign.workshop.environment, check=False)
    for pid in pids:
        attempt.signal(pid, signal.SIGCONT)
    if done.returncode != FILE or ": in use by " not in done.stderr:
        raise Finding(f"a second process on the same run ended with {done.returncode}: {done.stderr[-500:]}")


def leave_stuck(attempt, dice, campaign):
    """Kills it, and leaves what the next save cannot delete."""
    kill_all(attempt, dice, campaign)
    attempt.wait_for_end("a kill")
    step = attempt.before + dice.randint(1, 12)
    directory = attempt.checkpoints / f".step-{step:08}.{dice.choice(('partial', 'removed', 'replaced'))}"
    if directory.suffix == ".replaced" and not (attempt.checkpoints / f"step-{step:08}").exists():
        directory = directory.with_suffix(".partial")
    campaign.leave_stuck(directory)
    return ()


def on_ranks(campaign):
    return campaign.ranks > 1


def on_disk(campaign):
    return campaign.workshop.shim is not None


HARMS = [
    Harm("SIGKILL to a rank", kill_rank, 3.0),
    Harm("SIGKILL to all ranks", kill_all, 2.0),
    Harm("SIGKILL to mpirun", kill_launcher, 0.5, on_ranks),
    Harm("SIGSTOP, SIGCONT", stop_and_continue, 2.0, ends=False),
    Harm("SIGSTOP, SIGKILL", kill_stopped, 0.5),
    Harm("SIGINT, SIGTERM or SIGUSR1", save_and_stop, 2.0),
    Harm("SIGUSR1 to mpirun", save_and_stop_job, 0.5, on_ranks),
    Harm("SIGINT or SIGTERM to mpirun", end_job, 0.5, on_ranks),
    Harm("SIGTERM, SIGUSR1 repeated", repeat_signals, 1.0),
    Harm("SIGINT twice", repeat_interrupt, 0.5),
    Harm("full disk", fill_disk, 4.0, lambda campaign: campaign.is_on_small_disk),
    Harm("write fails (full, quota, I/O)", refuse_writes, 1.5, on_disk),
    Harm("sync fails (full, quota, I/O)", refuse_syncs, 1.0, on_disk),
    Harm("limit on the size of files", limit_files, 1.0),
    Harm("stalled disk", stall, 2.0, on_disk, ends=False),
    Harm("stalled disk, SIGKILL", kill_stalled, 1.0, on_disk),
    Harm("a second process on the run", start_another, 0.5, ends=False),
    Harm("leftover that cannot be deleted", leave_stuck, 1.0,
         lambda campaign: campaign.workshop.immutables and not campaign.is_on_small_disk),
]
